import { useEffect, useRef, useState } from 'preact/hooks'
import { deviceName } from '#contract/device-names.js'
import type { AccountEventKind } from '#contract/events.js'
import type { AccountEvent } from '#contract/schemas.js'
import { moveFocusTo } from '../browser/focus.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate, timeAgo } from '../words/dates.js'
import { fill } from '../words/format.js'

const shownAtFirst = 6
/** In the place of an address, of what an operator did by a command. */
const operatorsPlace = 'command line'
const warnings: readonly AccountEventKind[] = [
  'sign_in_failed',
  'second_factor_failed',
  'refresh_theft',
  'password_change_failed',
  'email_change_failed',
  'step_up_failed',
  'rate_limited',
]

export const EventsPanel = ({ events }: { events: AccountEvent[] }) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  const titleOf = useEventTitle()
  const whereOf = (event: AccountEvent) =>
    event.ip === '' || event.ip === operatorsPlace ? words.byOperator : `${deviceName(event, words)} · ${event.ip}`
  const [all, setAll] = useState(false)
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    // The pressed button is gone, so the focus goes to the first of the new lines.
    if (all) moveFocusTo(list.current?.querySelectorAll('li')[shownAtFirst])
  }, [all])
  const shown = all ? events : events.slice(0, shownAtFirst)
  return (
    <Panel title={words.events}>
      {events.length === 0 && <p class="panel-lead">{words.noEvents}</p>}
      <ol class="event-list" ref={list}>
        {shown.map((event) => (
          <li key={event.id} class={warnings.includes(event.kind) ? 'warning' : ''}>
            <span class="event-dot" aria-hidden="true" />
            <div class="row-text">
              <strong>{titleOf(event)}</strong>
              <span>{whereOf(event)}</span>
            </div>
            <time dateTime={event.createdAt} title={fullDate(event.createdAt, locale)}>
              {timeAgo(event.createdAt, locale)}
            </time>
          </li>
        ))}
      </ol>
      {events.length > shown.length && (
        <Button look="quiet" onPress={() => setAll(true)}>
          {words.showAll}
        </Button>
      )}
    </Panel>
  )
}

/** An event in words, with the name of its provider. */
const useEventTitle = () => {
  const { kinds } = useWords('dashboard')
  const { providers } = useSettings()
  return ({ kind, reason }: AccountEvent) => {
    const provider = providers.find(({ id }) => id === reason)?.name
    if (kind === 'signed_in' && provider !== undefined) return fill(kinds.signed_in_with, { provider })
    return fill(kinds[kind], {
      provider: provider ?? reason ?? '',
      groups: (reason ?? '').replaceAll(',', ', '),
      application: reason ?? '',
    })
  }
}
