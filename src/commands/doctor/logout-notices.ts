import { createLogoutNotices } from '../../domain/logout-notices/logout-notices.js'
import type { Database } from '../../platform/database/database.js'
import { counted } from '../terminal/counted.js'
import { type Finding, ok, warning, worstOf } from './check.js'

/** Ended sessions that applications could not be told of. */
export const checkLogoutNotices = async (database: Database): Promise<Finding> => {
  const { waiting, givenUp } = await createLogoutNotices({ database }).count()
  const why = '`latchkey application show NAME` says why'
  return worstOf('applications were told of every ended session', [
    givenUp > 0 ? warning(`${counted(givenUp, 'logout notice was', 'logout notices were')} given up: ${why}`) : ok(''),
    waiting > 100 ? warning(`${waiting} logout notices wait for their applications: ${why}`) : ok(''),
  ])
}
