import type { Sql } from '../platform/database/database.js'

// What a change voids stands in tables of rooms above this one. Only these statements reach up to them, so that no room has to be asked.

export const deleteEmailChange = (sql: Sql, userId: string) =>
  sql.query('delete from email_changes where user_id = $1', [userId])

export const deleteTrustedDevices = (sql: Sql, userId: string) =>
  sql.query('delete from trusted_devices where user_id = $1', [userId])

export const deletePersonalTokens = (sql: Sql, userId: string) =>
  sql.query('delete from personal_tokens where user_id = $1', [userId])

export const deletePendingSignIns = (sql: Sql, userId: string) =>
  sql.query('delete from sign_in_challenges where user_id = $1', [userId])

export const deletePendingSignInsOfProvider = (sql: Sql, userId: string, provider: string) =>
  sql.query('delete from sign_in_challenges where user_id = $1 and provider = $2', [userId, provider])

export const deleteMailSignIns = (sql: Sql, userId: string) =>
  sql.query('delete from mail_sign_ins where user_id = $1', [userId])

/** Withdraws approvals that no device has used yet. The device is told that its user has denied it. */
export const denyUnusedApprovals = (sql: Sql, userId: string) =>
  sql.query(
    "update device_requests set answer = 'denied' where user_id = $1 and answer = 'approved' and used_at is null",
    [userId],
  )
