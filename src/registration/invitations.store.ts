import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

export type InvitationRow = {
  email: string
  groups: string[]
  made_by: string
  /** The name that the maker has given, or the present name of the administrator. */
  invited_by: string | null
  return_to: string | null
  created_at: Date
  expires_at: Date
}

const invitation = {
  email: true,
  // Those that still exist: a later group may have got the name of a deleted one.
  groups: `array(select g.name from groups as g
    where g.name = any(invitations.groups) and g.created_at <= invitations.created_at order by g.name)`,
  made_by: true,
  invited_by: 'coalesce(invited_by, (select name from users where users.id = administrator_id))',
  return_to: true,
  created_at: true,
  expires_at: true,
} as const
const columns = selectList<InvitationRow>(invitation)

/** The primary key: see the migration. No address has a space. */
const keyOf = (addressKey: string, madeBy: string) =>
  madeBy === 'command line' ? addressKey : `${addressKey} ${madeBy}`

/** Whether an account has the address, and could join no group by accepting it. Then the invitation is of no use any more. */
const isUseless = `(groups = '{}' and exists (select 1 from users where users.email_key = invitations.address_key))`

/** Each maker has one row for an address, so a new invitation replaces the maker's earlier one. */
export const replace = (
  sql: Sql,
  newInvitation: {
    email: string
    addressKey: string
    groups: readonly string[]
    madeBy: string
    administratorId: string | null
    invitedBy: string | null
    returnTo: string | null
    /** Null for an invitation that is printed: then the link of the operator is the only one. */
    mailedHash: Uint8Array | null
    operatorHash: Uint8Array
    now: Date
    expiresAt: Date
  },
) =>
  sql.query(
    `insert into invitations (email_key, email, token_hash, mailed_hash, operator_hash, created_at, expires_at, groups,
       made_by, administrator_id, invited_by, return_to, printed)
     values ($1, $2, coalesce($3::bytea, $4::bytea), $3::bytea, $4::bytea, $5, $6, $7, $8, $9, $10, $11, $3::bytea is null)
     on conflict (email_key) do update
     set email = excluded.email, token_hash = excluded.token_hash, mailed_hash = excluded.mailed_hash,
         operator_hash = excluded.operator_hash, created_at = excluded.created_at, expires_at = excluded.expires_at,
         groups = excluded.groups, made_by = excluded.made_by, administrator_id = excluded.administrator_id,
         invited_by = excluded.invited_by, return_to = excluded.return_to, printed = excluded.printed`,
    [
      keyOf(newInvitation.addressKey, newInvitation.madeBy),
      newInvitation.email,
      newInvitation.mailedHash,
      newInvitation.operatorHash,
      newInvitation.now,
      newInvitation.expiresAt,
      newInvitation.groups,
      newInvitation.madeBy,
      newInvitation.administratorId,
      newInvitation.invitedBy,
      newInvitation.returnTo,
    ],
  )

/** False if an older release, which knows only one link, has written the newest invitation. */
const hasBothLinks = 'coalesce(mailed_hash = token_hash, false)'
const isLink = (hash: string) => `(token_hash = ${hash} or (operator_hash = ${hash} and ${hasBothLinks}))`

/** `proves_address`: this is the link that was mailed to the address and shown to no one else. */
type KeyedRow = InvitationRow & { address_key: string; printed: boolean; proves_address: boolean }
const keyedColumns = selectList<KeyedRow>({
  ...invitation,
  address_key: true,
  printed: true,
  proves_address: `token_hash = $1 and ${hasBothLinks}`,
})

export const selectByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<KeyedRow>(`select ${keyedColumns} from invitations where ${isLink('$1')} and expires_at > $2`, [
    tokenHash,
    now,
  ])

/** Locks the invitation until the transaction ends, so that it is used once. */
export const lockByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<KeyedRow>(`select ${keyedColumns} from invitations where ${isLink('$1')} and expires_at > $2 for update`, [
    tokenHash,
    now,
  ])

/**
 * Locks the invitations of an address until the transaction ends, so that of two new accounts only one finds them. `tokenHash`: only the
 * one that has this link. The order of the locks is always the same, so that two transactions do not wait for each other.
 */
export const lockOfAddress = (sql: Sql, addressKey: string, openAt: Date, tokenHash: Uint8Array | null) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations
     where address_key = $1 and expires_at > $2 and ($3::bytea is null or ${isLink('$3::bytea')}) order by email_key for update`,
    [addressKey, openAt, tokenHash],
  )

export const lockOfMaker = (sql: Sql, addressKey: string, madeBy: string, openAt: Date) =>
  sql.query<InvitationRow & { given_name: string | null }>(
    `select ${selectList<InvitationRow & { given_name: string | null }>({ ...invitation, given_name: 'invited_by' })}
     from invitations where email_key = $1 and expires_at > $2 for update`,
    [keyOf(addressKey, madeBy), openAt],
  )

export const removeOfMaker = (sql: Sql, addressKey: string, madeBy: string) =>
  sql.query<{ made_by: string; expires_at: Date }>(
    'delete from invitations where email_key = $1 returning made_by, expires_at',
    [keyOf(addressKey, madeBy)],
  )

export const removeOfAddress = (sql: Sql, addressKey: string) =>
  sql.query<{ made_by: string; expires_at: Date }>(
    'delete from invitations where address_key = $1 returning made_by, expires_at',
    [addressKey],
  )

/** Deletes the invitations of an address that belongs to an account, except those with groups: the account can still accept them. */
export const removeUseless = (sql: Sql, addressKey: string) =>
  sql.query(`delete from invitations where address_key = $1 and ${isUseless}`, [addressKey])

export const selectOpen = (sql: Sql, now: Date, madeBy: string | null) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations
     where expires_at > $1 and ($2::text is null or made_by = $2) and not ${isUseless} order by created_at, email_key`,
    [now, madeBy],
  )

export const selectOfEmails = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations where address_key = any($1::text[]) and expires_at > $2 order by created_at, email_key`,
    [keys, now],
  )

export const purge = (sql: Sql, expiredBefore: Date, limit: number) =>
  sql.query(
    `delete from invitations where email_key in
       (select email_key from invitations where expires_at <= $1 or ${isUseless} limit $2) returning 1`,
    [expiredBefore, limit],
  )
