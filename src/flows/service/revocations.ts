import type { EndedSessions } from '../../domain/sessions/ended-sessions.js'
import { seconds } from '../../lib/durations.js'

/** How long one wait lasts before it looks whether anyone still waits. */
const slice = 1 * seconds

type Dependencies = { endedSessions: Pick<EndedSessions, 'since' | 'waitForNews'> }
type Question = {
  after: string | undefined
  /** How long to wait for news, in milliseconds. */
  wait: number
  /** When the client has gone or the service shuts down, no one needs the answer any more. */
  isOver: () => boolean
}

/** The ended sessions for verifiers in other programs. An answer without news waits for some. */
export const createRevocations =
  ({ endedSessions }: Dependencies) =>
  async ({ after, wait, isOver }: Question) => {
    const end = performance.now() + wait
    // Waits before it asks: what ends in between is then told.
    let told = endedSessions.waitForNews(slice)
    const found = await endedSessions.since(after)
    if (found.complete || found.entries.length > 0) return found
    while (performance.now() < end && !isOver()) {
      if (await told) return endedSessions.since(found.cursor)
      told = endedSessions.waitForNews(Math.min(slice, end - performance.now()))
    }
    return wait === 0 ? found : endedSessions.since(found.cursor)
  }
