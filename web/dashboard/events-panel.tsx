import { useEffect, useRef, useState } from 'preact/hooks'
import { deviceName } from '#contract/device-names.js'
import type { AccountEvent } from '#contract/schemas.js'
import { moveFocusTo } from '../browser/focus.js'
import { Button } from '../components/button.js'
import { Panel } from '../components/panel.js'
import { useSettings, useWords } from '../hooks/settings.js'
import { fullDate, timeAgo } from '../words/dates.js'
import { isWarning, operatorsPlace, useEventTitle } from '../words/event-titles.js'

const shownAtFirst = 6

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
          <li key={event.id} class={isWarning(event.kind) ? 'warning' : ''}>
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
