import type { Transaction } from '../platform/database/database.js'
import * as store from './assign-to-application.store.js'

/** Assigns a session to an application, in the transaction in which the session begins. */
export const assignToApplication = async (sql: Transaction, sessionId: string, applicationId: string) => {
  await store.setApplication(sql, sessionId, applicationId)
}
