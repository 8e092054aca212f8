import { useState } from 'preact/hooks'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useWords } from '../hooks/settings.js'
import { fill } from '../words/format.js'
import { ShownSecret } from './application-changes.js'
import { useValueLabel, useValueText } from './application-values.js'
import { calls } from './calls.js'
import { ChangeDialog, ReasonField } from './change-dialog.js'
import { EventTable } from './event-table.js'
import { listFragment } from './place.js'
import { Loaded, Screen, useAdmin, useRead } from './screen.js'
import { useSettingText } from './settings.js'
import { Table } from './table.js'

type Details = NonNullable<AdminEvent['details']>

/** What was changed, as its own screen calls it. A setting has one value, which is called as the setting is. */
const useChangedThing = () => {
  const labelOf = useValueLabel()
  const textOf = useValueText()
  const settingText = useSettingText()
  return ({ kind, name }: Details) => {
    if (kind !== 'setting') return { name, labelOf, textOf }
    const isSettingValue = (value: unknown): value is string | string[] =>
      typeof value === 'string' || Array.isArray(value)
    return {
      name: labelOf(name),
      labelOf: () => labelOf(name),
      textOf: (value: unknown) => (isSettingValue(value) ? settingText(value) : textOf(value)),
    }
  }
}

/** One event, to which the mail about a change leads: what was before and after, and the way back. */
export const EventScreen = ({ id }: { id: string }) => {
  const words = useWords('admin')
  const { event: ofEvent } = useWords('configuration')
  const read = useRead(() => calls.event(id))
  const changedThing = useChangedThing()
  const details = read.value?.details
  return (
    <Screen
      title={details ? changedThing(details).name : words.columns.event}
      above={<a href={listFragment('events')}>{words.back}</a>}
    >
      <Loaded {...read}>
        {(event) => (
          <div class="stack">
            <section class="panel">
              <EventTable events={[event]} empty={ofEvent.missing} />
            </section>
            {event.details && <Changed event={event} details={event.details} reload={read.reload} />}
          </div>
        )}
      </Loaded>
    </Screen>
  )
}

type Props = { event: AdminEvent; details: Details; reload: () => Promise<void> }

const Changed = ({ event, details, reload }: Props) => {
  const words = useWords('configuration')
  const { mayManage } = useAdmin()
  const [isOpen, setOpen] = useState(false)
  const [secret, setSecret] = useState<string>()
  const { kind, canChangeBack } = details
  const { name } = useChangedThing()(details)
  return (
    <Panel title={words.event.heading}>
      <BeforeAndAfter details={details} />
      {secret !== undefined && <ShownSecret secret={secret} />}
      {mayManage && canChangeBack && (
        <Button look="danger" onPress={() => setOpen(true)}>{`${words.event.back}…`}</Button>
      )}
      {isOpen && (
        <ChangeDialog
          title={words.event.back}
          lead={fill(words.event.backLead, { name })}
          userNotice={words.told}
          submitLabel={words.event.back}
          look="danger"
          call={async ({ reason = '', endAccess }) => {
            const answer = await calls.changeBack(event.id, { reason, ...(endAccess === 'on' && { endAccess: true }) })
            if (!answer.refused) setSecret(answer.value.secret ?? undefined)
            return answer
          }}
          successMessage={() => fill(words.event.done, { name })}
          onDone={reload}
          onClose={() => setOpen(false)}
        >
          <ReasonField />
          {kind !== 'setting' && (
            <label class="check">
              <input type="checkbox" name="endAccess" />
              {kind === 'resource' ? words.resource.endAccess : words.event.endAccess}
            </label>
          )}
        </ChangeDialog>
      )}
    </Panel>
  )
}

const BeforeAndAfter = ({ details }: { details: Details }) => {
  const { event: words } = useWords('configuration')
  const { labelOf, textOf } = useChangedThing()(details)
  const before: Readonly<Record<string, unknown>> = { ...details.before }
  const after: Readonly<Record<string, unknown>> = { ...details.after }
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return (
    <Table
      caption={words.heading}
      columns={[
        { label: words.property, cell: (name: string) => labelOf(name) },
        { label: words.before, cell: (name: string) => textOf(before[name]) },
        { label: words.after, cell: (name: string) => textOf(after[name]) },
      ]}
      rows={names}
      keyOf={(name) => name}
      empty=""
    />
  )
}
