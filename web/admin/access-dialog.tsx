import { useState } from 'preact/hooks'
import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { GroupChoices } from './group-choices.js'
import { useRead } from './use-read.js'

type Props = { application: AdminApplication; onDone: () => Promise<void>; onClose: () => void }

/** Asks who may use the application: everyone, or the members of some groups. If no group is chosen, no user may. */
export const AccessDialog = ({ application, ...dialog }: Props) => {
  const { app, notTold } = useWords('admin')
  const { value } = useRead(calls.groups)
  const [everyone, setEveryone] = useState(application.everyone)
  const [groups, setGroups] = useState<readonly string[]>(application.groups)
  const { name } = application
  const losesUsers = !everyone && (application.everyone || application.groups.some((each) => !groups.includes(each)))
  return (
    <ChangeDialog
      {...dialog}
      title={fill(app.changeTitle, { name })}
      lead={app.changeLead}
      userNotice={notTold}
      submitLabel={app.submit}
      call={({ reason }) =>
        calls.changeApplication(application.id, {
          everyone,
          ...(!everyone && { groups: [...groups] }),
          ...(reason !== undefined && { reason }),
        })
      }
      successMessage={() => fill(app.done, { name })}
    >
      <fieldset>
        <legend class="visually-hidden">{fill(app.changeTitle, { name })}</legend>
        {[true, false].map((choice) => (
          <label key={`${choice}`} class="check">
            <input type="radio" name="access" checked={everyone === choice} onChange={() => setEveryone(choice)} />
            {choice ? app.everyone : app.onlyGroups}
          </label>
        ))}
      </fieldset>
      {!everyone && value && (
        <GroupChoices
          label={app.onlyGroups}
          names={value.groups.map((group) => group.name)}
          chosen={groups}
          onChange={setGroups}
        />
      )}
      {losesUsers && <ReasonField focused={false} />}
    </ChangeDialog>
  )
}
