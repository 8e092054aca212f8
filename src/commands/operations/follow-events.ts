import { setTimeout as wait } from 'node:timers/promises'
import { days, seconds } from '../../lib/durations.js'
import type { EventQuery, StoredEvent } from '../../messages/events.js'
import { StoreUnavailable } from '../../platform/database/database.js'
import { type CommandContext, print } from '../command.js'
import { exitCodes, watchForInterruption } from '../terminal/interruption.js'

const pollInterval = 1 * seconds
/** An event may become visible some time after `createdAt`: it was committed late, or by a machine whose clock is behind. */
const overlap = 30 * seconds
/** Events of other machines may lie in the future, because their clocks may be ahead. */
const clockTolerance = 1 * days
const maxAtOnce = 10_000

type Span = Pick<EventQuery, 'since' | 'until' | 'limit'>
type FollowedEvents = {
  /** If undefined, only new events are shown. */
  since: Date | undefined
  /** Gives the newest event first. */
  find(span: Span): Promise<readonly StoredEvent[]>
  show(event: StoredEvent): Promise<void>
}

/** Reads on from the time of the newest event, and not from the clock of this machine. */
const createReader = ({ since, find, show }: FollowedEvents) => {
  const shownTimes = new Map<string, number>()
  // Each read begins `overlap` before the newest event, so the first one begins at `since`.
  let newest = since === undefined ? undefined : since.getTime() + overlap

  const read = (from: number) =>
    find({ since: new Date(from), until: new Date(Date.now() + clockTolerance), limit: maxAtOnce })
  const markShown = ({ id, createdAt }: StoredEvent) => {
    newest = Math.max(newest ?? 0, createdAt.getTime())
    shownTimes.set(id, createdAt.getTime())
  }

  /** False if there were more events than one read gives, so that older ones are left out. */
  return async () => {
    if (newest === undefined) {
      for (const event of await read(Date.now() - clockTolerance)) markShown(event)
      newest ??= Date.now() - clockTolerance
    }
    const foundEvents = await read(newest - overlap)
    const oldest = foundEvents.at(-1)
    const isComplete = foundEvents.length < maxAtOnce || (oldest !== undefined && shownTimes.has(oldest.id))
    for (const event of foundEvents.toReversed()) {
      if (shownTimes.has(event.id)) continue
      await show(event)
      markShown(event)
    }
    for (const [id, time] of shownTimes) if (time < newest - 2 * overlap) shownTimes.delete(id)
    return isComplete
  }
}

/** Shows new events until Ctrl-C or until the output is closed. Waits for a database that cannot be reached. */
export const followEvents = async ({ stderr }: Pick<CommandContext, 'stderr'>, events: FollowedEvents) => {
  const stop = new AbortController()
  const interruption = watchForInterruption(() => stop.abort())
  const read = createReader(events)
  let isUnreachable = false

  const readOnce = async () => {
    if (!(await read())) await print(stderr, 'Older events are not shown: use --until, without --follow.')
    isUnreachable = false
  }
  const report = async (error: unknown) => {
    if (!(error instanceof StoreUnavailable)) throw error
    if (!isUnreachable) await print(stderr, 'The database cannot be reached. Waiting for it; no event is lost.')
    isUnreachable = true
  }

  try {
    while (!stop.signal.aborted) {
      await readOnce().catch(report)
      await wait(pollInterval, undefined, { signal: stop.signal }).catch(() => undefined)
    }
    return exitCodes[interruption.signal() ?? 'SIGINT']
  } finally {
    interruption.stopWatching()
  }
}
