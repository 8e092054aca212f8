import { useEffect, useRef, useState } from 'preact/hooks'
import type { AccountEvent } from '../api.js'
import { Button } from '../components/button.js'
import { focusOn } from '../focus.js'
import type { Settings } from '../settings.js'
import { fill } from '../words/format.js'
import { nameOf } from './devices.js'
import { ago, fullDate } from './moments.js'
import { Panel } from './panel.js'

const shownAtFirst = 6
const warnings = ['sign_in_failed', 'refresh_theft', 'password_change_failed']

export const EventsPanel = ({ events, settings }: { events: AccountEvent[]; settings: Settings<'dashboard'> }) => {
  const words = settings.words.dashboard
  const [all, setAll] = useState(false)
  const list = useRef<HTMLOListElement>(null)
  useEffect(() => {
    // The button is gone: the reader goes on with the first of the new lines.
    if (all) focusOn(list.current?.querySelectorAll('li')[shownAtFirst])
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
              <strong>{titleOf(event, settings)}</strong>
              <span>
                {nameOf(event.device, words)} · {event.ip}
              </span>
            </div>
            <time dateTime={event.createdAt} title={fullDate(event.createdAt, settings.locale)}>
              {ago(event.createdAt, settings.locale)}
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

/** A provider's part in it is told by name; a kind that this page does not know yet gets a general name. */
const titleOf = ({ kind, reason }: AccountEvent, { providers, words }: Settings<'dashboard'>) => {
  const kinds: Record<string, string> = words.dashboard.kinds
  const provider = providers.find(({ id }) => id === reason)?.name
  if (kind === 'signed_in' && provider !== undefined) return fill(words.dashboard.kinds.signed_in_with, { provider })
  return fill(kinds[kind] ?? words.dashboard.kinds.other, { provider: provider ?? reason ?? '' })
}
