import type { Sql } from '../../platform/database/database.js'
import { selectList } from '../../platform/database/select-list.js'

export type InvitationRow = { email: string; groups: string[]; created_at: Date; expires_at: Date }

const invitation = { email: true, groups: true, created_at: true, expires_at: true } as const
const columns = selectList<InvitationRow>(invitation)

/** Whether the address has an account meanwhile, for example by an import. Then the invitation is of no use any more. */
const hasAccount = 'exists (select 1 from users where users.email_key = invitations.email_key)'

/** Each address has one row, so a new invitation replaces the one before it. */
export const replace = (
  sql: Sql,
  newInvitation: {
    email: string
    emailKey: string
    groups: readonly string[]
    mailedHash: Uint8Array
    operatorHash: Uint8Array
    now: Date
    expiresAt: Date
  },
) =>
  sql.query(
    `insert into invitations (email_key, email, token_hash, mailed_hash, operator_hash, created_at, expires_at, groups)
     values ($1, $2, $3, $3, $4, $5, $6, $7)
     on conflict (email_key) do update
     set email = excluded.email, token_hash = excluded.token_hash, mailed_hash = excluded.mailed_hash,
         operator_hash = excluded.operator_hash, created_at = excluded.created_at, expires_at = excluded.expires_at,
         groups = excluded.groups`,
    [
      newInvitation.emailKey,
      newInvitation.email,
      newInvitation.mailedHash,
      newInvitation.operatorHash,
      newInvitation.now,
      newInvitation.expiresAt,
      newInvitation.groups,
    ],
  )

/** False if an older release, which knows only one link, has written the newest invitation. */
const hasBothLinks = 'coalesce(mailed_hash = token_hash, false)'
const isLink = (hash: string) => `(token_hash = ${hash} or (operator_hash = ${hash} and ${hasBothLinks}))`

/** `proves_address`: this is the link that was mailed to the address and shown to no one else. */
type KeyedRow = InvitationRow & { email_key: string; proves_address: boolean }
const keyedColumns = selectList<KeyedRow>({
  ...invitation,
  email_key: true,
  proves_address: `token_hash = $1 and ${hasBothLinks}`,
})

export const selectByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<KeyedRow>(`select ${keyedColumns} from invitations where ${isLink('$1')} and expires_at > $2`, [
    tokenHash,
    now,
  ])

/**
 * Locks the invitation until the transaction ends, so that of two new accounts only one finds it. `tokenHash`: the invitation must have
 * this link.
 */
export const lockByEmail = (sql: Sql, emailKey: string, openAt: Date, tokenHash: Uint8Array | null) =>
  sql.query<{ groups: string[]; created_at: Date }>(
    `select groups, created_at from invitations
     where email_key = $1 and expires_at > $2 and ($3::bytea is null or ${isLink('$3::bytea')}) for update`,
    [emailKey, openAt, tokenHash],
  )

export const remove = (sql: Sql, emailKey: string) =>
  sql.query<{ expires_at: Date }>('delete from invitations where email_key = $1 returning expires_at', [emailKey])

export const selectOpen = (sql: Sql, now: Date) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations where expires_at > $1 and not ${hasAccount} order by created_at, email_key`,
    [now],
  )

export const selectOfEmails = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query<InvitationRow>(
    `select ${columns} from invitations where email_key = any($1::text[]) and expires_at > $2 order by email_key`,
    [keys, now],
  )

export const purge = (sql: Sql, expiredBefore: Date, limit: number) =>
  sql.query(
    `delete from invitations where email_key in
       (select email_key from invitations where expires_at <= $1 or ${hasAccount} limit $2) returning 1`,
    [expiredBefore, limit],
  )
