import { useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { AdminApplication } from '#contract/admin/admin-bodies.js'
import { Button, CopyButton } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { dateWithZone } from '../words/dates.js'
import { fill } from '../words/format.js'
import { ApplicationFields, changedValues, comparedValues } from './application-values.js'
import { calls } from './calls.js'
import { ChangeDialog } from './change-dialog.js'
import { useMeanwhile } from './meanwhile.js'
import { fragmentOf, type ScreenName } from './place.js'
import { RowList } from './table.js'

export type ApplicationProps = { application: AdminApplication; reload: () => Promise<void> }
type DialogProps = ApplicationProps & { onClose: () => void }

/** The application as it is now; undefined if it is gone or cannot be read. */
const readAgain = async (id: string) => {
  const answer = await calls.applications()
  return answer.refused ? undefined : answer.value.applications.find((each) => each.id === id)
}

export const ChangeValuesDialog = ({ application, reload, onClose }: DialogProps) => {
  const words = useWords('configuration')
  const { id, name } = application
  const send = useMeanwhile(application, comparedValues, () => readAgain(id))
  return (
    <ChangeDialog
      title={fill(words.changeTitle, { name })}
      lead={words.changeLead}
      userNotice={words.told}
      submitLabel={words.save}
      call={(typed) => send((present) => calls.changeApplication(id, present.version, changedValues(typed, present)))}
      noticeOf={({ refused, message }) => (refused === 'changed_meanwhile' ? message : undefined)}
      successMessage={() => fill(words.saved, { name })}
      onDone={reload}
      onClose={onClose}
    >
      <ApplicationFields application={application} />
    </ChangeDialog>
  )
}

type DeleteProps = {
  name: string
  lead: string
  /** The list where it was. */
  screen: ScreenName
  call: (typedName: string) => Promise<Answer<unknown>>
  onClose: () => void
}

/** Deletes a thing whose name is typed. */
export const DeleteDialog = ({ name, lead, screen, call, onClose }: DeleteProps) => {
  const words = useWords('configuration')
  return (
    <ChangeDialog
      title={fill(words.deleteTitle, { name })}
      lead={lead}
      userNotice={words.told}
      submitLabel={words.deleteIt}
      look="danger"
      check={async ({ name: typed = '' }, invalid) =>
        invalid.name || typed.trim() === name ? invalid : { ...invalid, name: [words.otherName] }
      }
      call={({ name: typed = '' }) => call(typed.trim())}
      successMessage={() => fill(words.deleted, { name })}
      onDone={() => {
        location.hash = fragmentOf(screen)
        return undefined
      }}
      onClose={onClose}
    >
      <Field name="name" label={fill(words.typeName, { name })} autoComplete="off" maxLength={60} focused />
    </ChangeDialog>
  )
}

/** A secret that was just made, and is shown only now. */
export const ShownSecret = ({ secret }: { secret: string }) => {
  const words = useWords('configuration')
  return (
    <div class="shown-once">
      <p>{words.secretOnce}</p>
      <div class="copied-line">
        <code>{secret}</code>
        <CopyButton text={secret} label={words.copy} copiedLabel={words.copied} />
      </div>
    </div>
  )
}

const SecretDialog = ({ secret, onClose }: { secret: string; onClose: () => void }) => {
  const words = useWords('configuration')
  return (
    <Dialog title={words.secretAdded} lead={<ShownSecret secret={secret} />} onCancel={onClose}>
      {(close) => (
        <Button
          look="primary"
          onPress={() => {
            close()
            onClose()
          }}
        >
          {words.done}
        </Button>
      )}
    </Dialog>
  )
}

type Open = { do: 'add' } | { do: 'remove'; id: string } | { do: 'show'; secret: string }

export const Secrets = ({ application, reload, mayChange }: ApplicationProps & { mayChange: boolean }) => {
  const { app } = useWords('admin')
  const words = useWords('configuration')
  const { locale } = useSettings()
  const [open, setOpen] = useState<Open>()
  const { id, version, secrets } = application
  const close = () => setOpen((current) => (current?.do === 'show' ? current : undefined))
  return (
    <Panel title={app.secrets}>
      <RowList empty={words.noSecrets}>
        {secrets.map((secret) => (
          <li key={secret.id}>
            <div class="row-body">
              <span class="row-text">
                {fill(app.secretOf, { id: secret.id, date: dateWithZone(secret.createdAt, locale) })}
              </span>
              {/* The only one cannot be removed. */}
              {mayChange && secrets.length > 1 && (
                <Button
                  label={fill(words.removeSecretOf, { id: secret.id })}
                  onPress={() => setOpen({ do: 'remove', id: secret.id })}
                >{`${words.removeSecret}…`}</Button>
              )}
            </div>
          </li>
        ))}
      </RowList>
      {mayChange && <Button onPress={() => setOpen({ do: 'add' })}>{`${words.addSecret}…`}</Button>}
      {open?.do === 'add' && (
        <ChangeDialog
          title={words.addSecret}
          lead={words.addSecretLead}
          userNotice={words.told}
          submitLabel={words.addSecret}
          call={async () => {
            const answer = await calls.addSecret(id, version)
            if (!answer.refused) setOpen({ do: 'show', secret: answer.value.secret })
            return answer
          }}
          successMessage={() => words.secretAdded}
          onDone={reload}
          onClose={close}
        />
      )}
      {open?.do === 'remove' && (
        <ChangeDialog
          title={fill(words.removeSecretOf, { id: open.id })}
          lead={words.removeSecretLead}
          userNotice={words.told}
          submitLabel={words.removeSecret}
          look="danger"
          call={() => calls.removeSecret(id, version, open.id)}
          successMessage={() => words.secretRemoved}
          onDone={reload}
          onClose={close}
        />
      )}
      {open?.do === 'show' && <SecretDialog secret={open.secret} onClose={() => setOpen(undefined)} />}
    </Panel>
  )
}
