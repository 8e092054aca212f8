import { useEffect, useState } from 'preact/hooks'
import type { AdminEvent } from '#contract/admin/admin-bodies.js'
import { saveFile } from '../browser/storage.js'
import { Button } from '../components/button.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import { fill } from '../words/format.js'
import { useRefusalSentence } from '../words/refusals.js'
import { useAdmin } from './admin-context.js'
import { asCsv, asJsonLines } from './event-export.js'
import { askForEvents, type EventFilter } from './event-filter.js'

const pollInterval = 5_000
/** An event may become visible some seconds after its `createdAt`, so each request asks from a minute before the newest event. */
const overlap = 60_000
const maxExported = 10_000

type Props = { filter: EventFilter; events: AdminEvent[] | undefined; onArrived: (events: AdminEvent[]) => void }

/** Follows new events, and saves the events that the filter finds. */
export const EventTools = (props: Props) => {
  const words = useWords('admin').eventList
  const { isOn, setOn, arrivedCount } = useFollowing(props)
  const save = useExport(props.filter)
  return (
    <div class="tools">
      <label class="check">
        <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => setOn(currentTarget.checked)} />
        {words.follow}
      </label>
      <p class="panel-lead" role="status">
        {isOn && (arrivedCount === 0 ? words.following : fill(words.arrived, { count: `${arrivedCount}` }))}
      </p>
      <div class="button-row">
        <Button onPress={() => save('csv')}>{words.exportCsv}</Button>
        <Button onPress={() => save('jsonl')}>{words.exportJson}</Button>
      </div>
    </div>
  )
}

const useFollowing = ({ filter, events, onArrived }: Props) => {
  const [isOn, setOn] = useState(false)
  const [arrivedCount, setArrivedCount] = useState(0)
  const loadNewer = useStableCallback(async () => {
    if (document.visibilityState === 'hidden' || events === undefined) return
    const [newest] = events
    const from = newest && new Date(Date.parse(newest.createdAt) - overlap).toISOString()
    const answer = await askForEvents(filter, from === undefined ? {} : { from })
    // The next attempt comes soon. If the session has ended, the next button that the user presses shows it.
    if (answer.refused) return
    const knownIds = new Set(events.map(({ id }) => id))
    const newEvents = answer.value.items.filter(({ id }) => !knownIds.has(id))
    if (newEvents.length === 0) return
    onArrived(newEvents)
    setArrivedCount((count) => count + newEvents.length)
  })
  useEffect(() => {
    if (!isOn) return undefined
    setArrivedCount(0)
    const timer = setInterval(() => void loadNewer(), pollInterval)
    return () => clearInterval(timer)
  }, [isOn])
  return { isOn, setOn, arrivedCount }
}

const formats = {
  csv: { write: asCsv, type: 'text/csv' },
  jsonl: { write: asJsonLines, type: 'application/jsonl' },
}

/** Loads page after page, up to `maxExported` events, and saves them as a file. */
const useExport = (filter: EventFilter) => {
  const words = useWords('admin').eventList
  const { showSuccess, showError, leaveIfEnded } = useAdmin()
  const sentenceOf = useRefusalSentence()
  return async (format: keyof typeof formats) => {
    const events: AdminEvent[] = []
    let after: string | undefined
    do {
      const answer = await askForEvents(filter, after === undefined ? {} : { after })
      if (answer.refused) {
        if (!(await leaveIfEnded(answer))) showError(sentenceOf(answer))
        return
      }
      events.push(...answer.value.items)
      after = answer.value.next ?? undefined
    } while (after !== undefined && events.length < maxExported)
    const { write, type } = formats[format]
    saveFile(write(events), `events.${format}`, type)
    showSuccess(fill(after === undefined ? words.exported : words.exportCut, { count: `${events.length}` }))
  }
}
