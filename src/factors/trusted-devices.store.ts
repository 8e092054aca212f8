import type { Client } from '../http/request-origin.js'
import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

export type TrustedDeviceRow = { id: string; ip: string; user_agent: string; created_at: Date; expires_at: Date }

const columns = selectList<TrustedDeviceRow>({
  id: true,
  ip: true,
  user_agent: true,
  created_at: true,
  expires_at: true,
})

export const insert = (
  sql: Sql,
  device: { id: string; userId: string; hash: Uint8Array; client: Client; now: Date; expiresAt: Date },
) =>
  sql.query(
    `insert into trusted_devices (id, user_id, hash, ip, user_agent, created_at, expires_at)
     values ($1, $2, $3, $4, $5, $6, $7)`,
    [device.id, device.userId, device.hash, device.client.ip, device.client.userAgent, device.now, device.expiresAt],
  )

export const selectByHash = (sql: Sql, userId: string, hashes: readonly Uint8Array[], now: Date) =>
  sql.query<{ id: string }>(
    'select id from trusted_devices where user_id = $1 and hash = any($2::bytea[]) and expires_at > $3 limit 1',
    [userId, hashes, now],
  )

/** The hashes of trusted devices among these that have not expired, for any account. */
export const selectValid = (sql: Sql, hashes: readonly Uint8Array[], now: Date) =>
  sql.query<{ hash: Uint8Array }>(
    'select hash from trusted_devices where hash = any($1::bytea[]) and expires_at > $2',
    [hashes, now],
  )

export const selectHashes = (sql: Sql, userId: string, hashes: readonly Uint8Array[]) =>
  sql.query<{ hash: Uint8Array }>('select hash from trusted_devices where user_id = $1 and hash = any($2::bytea[])', [
    userId,
    hashes,
  ])

export const selectOfUser = (sql: Sql, userId: string, now: Date) =>
  sql.query<TrustedDeviceRow>(
    `select ${columns} from trusted_devices where user_id = $1 and expires_at > $2
     order by created_at desc, id desc limit 200`,
    [userId, now],
  )

export const deleteOfUser = (sql: Sql, id: string, userId: string) =>
  sql.query('delete from trusted_devices where id = $1 and user_id = $2 returning id', [id, userId])

export const deleteByHash = (sql: Sql, userId: string, hashes: readonly Uint8Array[]) =>
  sql.query('delete from trusted_devices where user_id = $1 and hash = any($2::bytea[])', [userId, hashes])
