import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'

export type PasskeyRow = {
  id: string
  user_id: string
  credential_id: Uint8Array
  public_key: Uint8Array
  counter: number
  transports: string[]
  relying_party: string
  name: string
  synced: boolean
  created_at: Date
  last_used_at: Date | null
}

const passkeyColumns = selectList<PasskeyRow>({
  id: true,
  user_id: true,
  credential_id: true,
  public_key: true,
  counter: true,
  transports: true,
  relying_party: true,
  name: true,
  synced: true,
  created_at: true,
  last_used_at: true,
})

export const selectOfUser = (sql: Sql, userId: string) =>
  sql.query<PasskeyRow>(`select ${passkeyColumns} from passkeys where user_id = $1 order by id`, [userId])

export const selectByCredential = (sql: Sql, credentialId: Uint8Array, relyingParty: string) =>
  sql.query<PasskeyRow>(`select ${passkeyColumns} from passkeys where credential_id = $1 and relying_party = $2`, [
    credentialId,
    relyingParty,
  ])

export const countUsable = (sql: Sql, userId: string, relyingParty: string) =>
  sql.query<{ count: number }>('select count(*) as count from passkeys where user_id = $1 and relying_party = $2', [
    userId,
    relyingParty,
  ])

export const countByHost = (sql: Sql, relyingParty: string) =>
  sql.query<{ all: number; for_other_hosts: number }>(
    'select count(*) as all, count(*) filter (where relying_party <> $1) as for_other_hosts from passkeys',
    [relyingParty],
  )

/** No row if the credential belongs to an account already. */
export const insert = (
  sql: Sql,
  { clockOffset, ...passkey }: Omit<PasskeyRow, 'created_at' | 'last_used_at'> & { clockOffset: number },
) =>
  sql.query<PasskeyRow>(
    `insert into passkeys
       (id, user_id, credential_id, public_key, counter, transports, relying_party, name, synced, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${databaseMoment('$10')}) on conflict do nothing returning ${passkeyColumns}`,
    [
      passkey.id,
      passkey.user_id,
      passkey.credential_id,
      passkey.public_key,
      passkey.counter,
      passkey.transports,
      passkey.relying_party,
      passkey.name,
      passkey.synced,
      clockOffset,
    ],
  )

/** The counter must grow, unless the authenticator does not count. Of two uses with the same counter only one is accepted. */
export const acceptUse = (sql: Sql, use: { id: string; counter: number; synced: boolean; now: Date }) =>
  sql.query(
    `update passkeys set counter = $2, synced = $3, last_used_at = $4
     where id = $1 and (counter < $2 or (counter = 0 and $2 = 0)) returning id`,
    [use.id, use.counter, use.synced, use.now],
  )

export const rename = (sql: Sql, id: string, userId: string, name: string) =>
  sql.query<PasskeyRow>(`update passkeys set name = $3 where id = $1 and user_id = $2 returning ${passkeyColumns}`, [
    id,
    userId,
    name,
  ])

export const remove = (sql: Sql, id: string) => sql.query('delete from passkeys where id = $1 returning id', [id])

export const removeSome = (sql: Sql, userId: string, ids: readonly string[]) =>
  sql.query('delete from passkeys where user_id = $1 and id = any($2::uuid[]) returning id', [userId, ids])

export const removeAll = (sql: Sql, userId: string) =>
  sql.query('delete from passkeys where user_id = $1 returning id', [userId])
