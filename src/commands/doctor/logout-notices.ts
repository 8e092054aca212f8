import { systemClock } from '../../lib/clock.js'
import { minutes, seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { createLogoutNotices, type LogoutNoticeState } from '../../openid/logout/logout-notices.js'
import type { Database } from '../../platform/database/database.js'
import { printableText } from '../terminal/printable-json.js'
import { type Finding, ok, warning } from './check.js'

/** These limits are not reached while one application restarts. */
const manyWaiting = 100
const longWait = 5 * minutes

const inMinutes = (age: number) => countText(Math.floor((age * seconds) / minutes), 'minute')

const troubleOf = ({ name, waiting, oldest, givenUp, refused, refusedWith }: LogoutNoticeState) => {
  const waits = `${countText(waiting, 'logout notice waits', 'logout notices wait')}, the oldest for ${inMinutes(oldest)}`
  const troubles = [
    ...(waiting > manyWaiting || oldest * seconds > longWait ? [waits] : []),
    ...(givenUp > 0 ? [`${countText(givenUp, 'logout notice was', 'logout notices were')} given up`] : []),
    // A notice that is refused stays so until somebody changes the application.
    ...(refusedWith === undefined ? [] : [`notices are refused with ${refusedWith}`]),
    ...(refused ? ['logout notices were refused in the last day'] : []),
  ]
  return troubles.length > 0 ? [`${printableText(name)}: ${troubles.join(', ')}`] : []
}

export const judgeLogoutNotices = (states: readonly LogoutNoticeState[]): Finding => {
  const troubles = states.flatMap(troubleOf)
  if (troubles.length > 0) return warning(`${troubles.join('; ')}. \`latchkey application show NAME\` says why`)
  const waiting = states.reduce((sum, state) => sum + state.waiting, 0)
  const waits =
    waiting === 0 ? 'no logout notice waits' : countText(waiting, 'logout notice waits', 'logout notices wait')
  return ok(`${waits} for an application`)
}

/** Ended sessions that applications could not be told of. */
export const checkLogoutNotices = async (database: Database): Promise<Finding> =>
  judgeLogoutNotices(await createLogoutNotices({ database, clock: systemClock }).states())
