import type { Transaction } from '../../platform/database/database.js'
import * as store from './device-sessions.store.js'

/** For a session that begins in the same transaction. */
export const assignToApplication = async (sql: Transaction, sessionId: string, applicationId: string) => {
  await store.setApplication(sql, sessionId, applicationId)
}
