import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Database } from '../platform/database/database.js'
import type { SessionCaller } from '../sessions/session-facts.js'
import * as store from './email-changes.store.js'

/** How many codes a user can try for each change. */
export const codeTries = 5

/** Each change has its own code, so the code of an earlier mail confirms no later address. */
export const codeIdOf = (hash: Uint8Array) => `email change ${Buffer.from(hash).toString('hex')}`

type Dependencies = { database: Database; clock: Clock; mailedCodes: Pick<MailedCodes, 'isCodeOf'> }

/** The hash of the change that the session has asked for, if the code is right. A try is counted before the code is compared. */
export const createCheckEmailCode =
  ({ database, clock, mailedCodes }: Dependencies) =>
  async (caller: SessionCaller, code: string) => {
    const [row] = await store.spendTry(database, caller, clock.now())
    if (!row) {
      const [waitingChange] = await store.selectWaiting(database, caller.userId, clock.now())
      return refuse(
        waitingChange && waitingChange.session_id !== caller.sessionId ? 'other_browser' : 'mailed_code_void',
      )
    }
    if (mailedCodes.isCodeOf(codeIdOf(row.hash), code)) return { hash: row.hash }
    return refuse(row.code_tries_left > 0 ? 'wrong_mailed_code' : 'mailed_code_void')
  }
