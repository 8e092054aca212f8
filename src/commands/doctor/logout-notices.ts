import { createLogoutNotices } from '../../domain/logout-notices/logout-notices.js'
import type { Database } from '../../platform/database/database.js'
import { counted } from '../terminal/counted.js'
import { type Finding, ok, warning } from './check.js'

/** More than so many do not wait because one application restarts. */
const manyWaiting = 100

export const judgeLogoutNotices = ({ waiting, givenUp }: { waiting: number; givenUp: number }): Finding => {
  const waits =
    waiting === 0 ? 'no logout notice waits' : counted(waiting, 'logout notice waits', 'logout notices wait')
  if (givenUp === 0 && waiting <= manyWaiting) return ok(`${waits} for an application`)
  const failed = givenUp === 0 ? '' : `${counted(givenUp, 'logout notice was', 'logout notices were')} given up, `
  return warning(`${failed}${waits} for an application: \`latchkey application show NAME\` says why`)
}

/** Ended sessions that applications could not be told of. */
export const checkLogoutNotices = async (database: Database): Promise<Finding> =>
  judgeLogoutNotices(await createLogoutNotices({ database }).count())
