import type { Transaction } from '../../platform/database/database.js'
import * as store from './device-requests.store.js'

/** Approvals of which no device has made use. Such a device is told that its user has denied it. */
export const withdrawDeviceApprovals = async (sql: Transaction, userId: string) => {
  await store.denyUnusedApprovals(sql, userId)
}
