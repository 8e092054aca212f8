import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import type { Values } from '../components/form.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { chosenGroups, GroupChoices } from './groups.js'
import { useAdmin, useRead } from './screen.js'
import { GroupNames } from './table.js'

type Allow = AdminApplication['allow']

/** Shows who may use an application or a resource. With an empty list of groups, no user may. */
export const Access = ({ allow }: { allow: Allow }) => {
  const words = useWords('admin').app
  if (allow === 'everyone') return <span>{words.everyone}</span>
  return allow === null || allow.length === 0 ? <span>{words.nobody}</span> : <GroupNames groups={allow} />
}

type Thing = { name: string; allow: Allow; setBy: { file: string } | null }
type Props = {
  thing: Thing
  reload: () => Promise<void>
  call: (patch: { allow: 'everyone' | string[]; reason?: string }) => Promise<Answer<unknown>>
}

export const WhoMayUse = ({ thing, reload, call }: Props) => {
  const { app, columns } = useWords('admin')
  const { setByFile } = useWords('configuration')
  const { mayManage } = useAdmin()
  const [isDialogOpen, setDialogOpen] = useState(false)
  return (
    <Panel title={columns.access}>
      <div>
        <Access {...thing} />
      </div>
      {thing.setBy !== null && <p class="panel-lead">{fill(setByFile, thing.setBy)}</p>}
      {mayManage && thing.setBy === null && <Button onPress={() => setDialogOpen(true)}>{`${app.change}…`}</Button>}
      {isDialogOpen && <AccessDialog {...{ thing, reload, call }} onClose={() => setDialogOpen(false)} />}
    </Panel>
  )
}

/** Asks who may use the thing: everyone, or the members of some groups. If no group is chosen, no user may. */
const AccessDialog = ({ thing, reload, call, onClose }: Props & { onClose: () => void }) => {
  const { app } = useWords('admin')
  const { told } = useWords('configuration')
  const { name, allow } = thing
  const allowed = allow === 'everyone' ? [] : (allow ?? [])
  const [everyone, setEveryone] = useState(allow === 'everyone')
  const [groups, setGroups] = useState<readonly string[]>(allowed)
  const losesUsers = !everyone && (allow === 'everyone' || allowed.some((each) => !groups.includes(each)))
  return (
    <ChangeDialog
      onDone={reload}
      onClose={onClose}
      title={fill(app.changeTitle, { name })}
      lead={app.changeLead}
      userNotice={told}
      submitLabel={app.submit}
      call={({ reason }) =>
        call({ allow: everyone ? 'everyone' : [...groups], ...(reason !== undefined && { reason }) })
      }
      successMessage={() => fill(app.done, { name })}
    >
      <AccessChoice
        legend={fill(app.changeTitle, { name })}
        isLegendHidden
        everyone={everyone}
        onEveryone={setEveryone}
        groups={groups}
        onGroups={setGroups}
      />
      {losesUsers && <ReasonField focused={false} />}
    </ChangeDialog>
  )
}

type ChoiceProps = {
  legend: string
  isLegendHidden?: boolean
  everyone: boolean
  onEveryone: (everyone: boolean) => void
  groups?: readonly string[]
  onGroups?: (groups: string[]) => void
}

const AccessChoice = ({ legend, isLegendHidden = false, everyone, onEveryone, groups, onGroups }: ChoiceProps) => {
  const { app } = useWords('admin')
  const { value } = useRead(calls.groups)
  return (
    <>
      <fieldset>
        <legend class={isLegendHidden ? 'visually-hidden' : undefined}>{legend}</legend>
        {[true, false].map((choice) => (
          <label key={`${choice}`} class="check">
            <input
              type="radio"
              name="access"
              value={choice ? 'everyone' : 'groups'}
              checked={everyone === choice}
              onChange={() => onEveryone(choice)}
            />
            {choice ? app.everyone : app.onlyGroups}
          </label>
        ))}
      </fieldset>
      {!everyone && value && (
        <GroupChoices
          label={app.onlyGroups}
          names={value.groups.map(({ name }) => name)}
          {...(groups && { chosen: groups })}
          {...(onGroups && { onChange: onGroups })}
        />
      )}
    </>
  )
}

/** The same in the form of a new thing, which keeps what was chosen: `access`, and a box for each group. */
export const NewAccess = ({ legend, typed = {} }: { legend: string; typed?: Values }) => {
  const [everyone, setEveryone] = useState(typed.access !== 'groups')
  return <AccessChoice legend={legend} everyone={everyone} onEveryone={setEveryone} groups={chosenGroups(typed)} />
}

/** What was chosen there. Undefined: groups, but none of them. A new thing that nobody may use is a slip. */
export const chosenAccess = (values: Values) => {
  if (values.access !== 'groups') return 'everyone'
  const groups = chosenGroups(values)
  return groups.length > 0 ? groups : undefined
}
