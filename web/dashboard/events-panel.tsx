import { useRef } from 'preact/hooks'
import { deviceName } from '#contract/device-names.js'
import type { AccountEvent } from '#contract/schemas.js'

import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate, timeAgo } from '../words/dates.js'
import { commandLineIp, isWarning, useEventTitle } from '../words/event-titles.js'
import { AccountPanel } from './section.js'
import { ShowAll, useFirstFew } from './show-all.js'

export const EventsPanel = ({ events }: { events: AccountEvent[] }) => {
  const words = useWords('dashboard')
  return (
    <AccountPanel place="activity" title={words.events}>
      {events.length === 0 && <p class="panel-lead">{words.noEvents}</p>}
      <EventList events={events} />
    </AccountPanel>
  )
}

/** The newest events, and the others after a press on the button. */
export const EventList = ({ events }: { events: AccountEvent[] }) => {
  const words = useWords('dashboard')
  const { locale } = useSettings()
  const titleOf = useEventTitle()
  const whereOf = (event: AccountEvent) =>
    event.ip === '' || event.ip === commandLineIp ? words.byOperator : `${deviceName(event, words)} · ${event.ip}`
  const list = useRef<HTMLOListElement>(null)
  const { shown, ...showAllProps } = useFirstFew(events, list)
  return (
    <>
      <ol class="event-list" ref={list}>
        {shown.map((event) => (
          <li key={event.id} class={isWarning(event.kind) ? 'warning' : ''}>
            <span class="event-dot" aria-hidden="true" />
            <div class="row-text">
              <strong>{titleOf(event)}</strong>
              <span>{whereOf(event)}</span>
            </div>
            <time dateTime={event.createdAt}>
              {timeAgo(event.createdAt, locale)} <span>{fullDate(event.createdAt, locale)}</span>
            </time>
          </li>
        ))}
      </ol>
      <ShowAll {...showAllProps} more={words.showAllEvents} fewer={words.showFewerEvents} />
    </>
  )
}
