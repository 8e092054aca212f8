import * as store from '../openid/device/device-requests.store.js'
import type { Transaction } from '../platform/database/database.js'

/** Withdraws approvals that no device has used yet. The device is told that its user has denied it. */
export const withdrawDeviceApprovals = async (sql: Transaction, userId: string) => {
  await store.denyUnusedApprovals(sql, userId)
}
