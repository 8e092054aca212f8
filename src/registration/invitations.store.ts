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

/** Whether an account has the address, and could join no group by accepting it. Then the invitation is of no use any more. */
const isUseless = `(groups = '{}' and exists (select 1 from users where users.email_key = invitations.email_key))`

/** Each maker has one row for an address, so a new invitation replaces the maker's earlier one. */
export const replace = (
  sql: Sql,
  newInvitation: {
    email: string
    emailKey: string
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
    `insert into invitations (email_key, email, mailed_hash, operator_hash, created_at, expires_at, groups,
       made_by, administrator_id, invited_by, return_to)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
     on conflict (email_key, made_by) do update
     set email = excluded.email, mailed_hash = excluded.mailed_hash, operator_hash = excluded.operator_hash,
         created_at = excluded.created_at, expires_at = excluded.expires_at, groups = excluded.groups,
         administrator_id = excluded.administrator_id, invited_by = excluded.invited_by, return_to = excluded.return_to`,
    [
      newInvitation.emailKey,
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

const isLink = (hash: string) => `(mailed_hash = ${hash} or operator_hash = ${hash})`

/** `proves_address`: this is the link that was mailed to the address and shown to no one else. */
type KeyedRow = InvitationRow & { email_key: string; printed: boolean; proves_address: boolean }
const keyedColumns = selectList<KeyedRow>({
  ...invitation,
  email_key: true,
  printed: 'mailed_hash is null',
  proves_address: 'coalesce(mailed_hash = $1, false)',
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
export const lockOfAddress = (sql: Sql, emailKey: string, openAt: Date, tokenHash: Uint8Array | null) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations
     where email_key = $1 and expires_at > $2 and ($3::bytea is null or ${isLink('$3::bytea')}) order by made_by for update`,
    [emailKey, openAt, tokenHash],
  )

export const lockOfMaker = (sql: Sql, emailKey: string, madeBy: string, openAt: Date) =>
  sql.query<InvitationRow & { given_name: string | null }>(
    `select ${selectList<InvitationRow & { given_name: string | null }>({ ...invitation, given_name: 'invited_by' })}
     from invitations where email_key = $1 and made_by = $2 and expires_at > $3 for update`,
    [emailKey, madeBy, openAt],
  )

export const removeOfMaker = (sql: Sql, emailKey: string, madeBy: string) =>
  sql.query<{ made_by: string; expires_at: Date }>(
    'delete from invitations where email_key = $1 and made_by = $2 returning made_by, expires_at',
    [emailKey, madeBy],
  )

export const removeOfAddress = (sql: Sql, emailKey: string) =>
  sql.query<{ made_by: string; expires_at: Date }>(
    'delete from invitations where email_key = $1 returning made_by, expires_at',
    [emailKey],
  )

/** Deletes the invitations of an address that belongs to an account, except those with groups: the account can still accept them. */
export const removeUseless = (sql: Sql, emailKey: string) =>
  sql.query(`delete from invitations where email_key = $1 and ${isUseless}`, [emailKey])

export const selectOpen = (sql: Sql, now: Date, madeBy: string | null) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations
     where expires_at > $1 and ($2::text is null or made_by = $2) and not ${isUseless} order by created_at, email_key, made_by`,
    [now, madeBy],
  )

export const selectOfEmails = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations where email_key = any($1::text[]) and expires_at > $2 order by created_at, email_key, made_by`,
    [keys, now],
  )

export const purge = (sql: Sql, expiredBefore: Date, limit: number) =>
  sql.query(
    `delete from invitations where (email_key, made_by) in
       (select email_key, made_by from invitations where expires_at <= $1 or ${isUseless} limit $2) returning 1`,
    [expiredBefore, limit],
  )
