import type { ChangeDetails } from '../../src/account-changes/account-change-table.js'
import { accountChangeTable, type ChangeKind, consequencesOf } from '../../src/account-changes/account-change-table.js'
import type { Database } from '../../src/platform/database/database.js'
import type { Rooms } from '../../src/service/open-rooms.js'
import { passwordFacts, unchecked } from './session-facts.js'

const kinds = Object.keys(accountChangeTable) as ChangeKind[]
export const kindsByInitiator = kinds.flatMap((kind) =>
  consequencesOf(kind).by.map((initiator) => ({ kind, initiator })),
)

const identity = { provider: 'provider_a', subject: '1' } as const
const restored = { byOperator: false }

type KindWithDetails = {
  [Kind in ChangeKind]: Record<never, never> extends ChangeDetails<Kind> ? never : Kind
}[ChangeKind]

/** The details of each kind: one that is missing does not compile. */
const neededDetails: { [Kind in KindWithDetails]: ChangeDetails<Kind> } = {
  username_changed: { mail: { formerUsername: 'before', reservedFor: 1 }, undo: { former: 'before' } },
  language_changed: { mail: { newLanguage: 'de' }, undo: { former: 'en' } },
  totp_replaced: { undo: { former: { id: '0190f0a0-0000-7000-8000-000000000000', sealed: 'key.sealed' } } },
  passkey_added: { mail: { passkeyName: 'Key' }, undo: { id: '0190f0a0-0000-7000-8000-000000000000' } },
  token_made: {
    mail: { tokenName: 'Phone', applications: 'Wiki' },
    undo: { id: '0190f0a0-0000-7000-8000-000000000000' },
  },
  passkey_removed: { mail: { passkeyName: 'Key' } },
  provider_linked: { mail: { providerName: 'A' }, undo: { identity }, event: { provider: 'provider_a' } },
  provider_unlinked: { mail: { providerName: 'A' }, event: { provider: 'provider_a' } },
  new_program: { mail: { programName: 'Helper', resourceName: 'Wiki tools' } },
  stepped_up: { proven: 'pwd' },
  email_change_asked: { mail: { newEmail: 'new@example.org' } },
  email_changed: { mail: { newEmail: 'new@example.org' } },
  account_deleted: { mail: { byOperator: false } },
  user_deleted: { mail: { byOperator: true } },
  email_change_undone: { mail: restored, factors: ['password', 'totp'] },
  factor_undone: { mail: restored, factors: ['password', 'passkey'] },
  account_recovered: { mail: restored, factors: ['password'] },
  email_set: { mail: { newEmail: 'new@example.org' } },
  factors_reset: { factors: ['totp', 'passkey'] },
  recovery_code_used: { mail: { left: 9 } },
}

export const changeDetails = {
  ...Object.fromEntries(kinds.map((kind) => [kind, {}])),
  ...neededDetails,
} as { [Kind in ChangeKind]: ChangeDetails<Kind> }

export const client = { ip: '192.0.2.1', userAgent: 'test' }

type AccountNouns = Pick<Rooms, 'newUsers' | 'sessions' | 'oneTimeTokens' | 'trustedDevices' | 'pendingSignIns'>
export type PreparedAccount = Awaited<ReturnType<typeof prepareAccount>>

/** An account with two sessions and everything that a change can void. */
export const prepareAccount = async (database: Database, nouns: AccountNouns, username: string) => {
  const email = `${username}@example.com`
  const { newUsers, sessions, oneTimeTokens, trustedDevices, pendingSignIns } = nouns
  // It is never compared with a password.
  const passwordHash = 'a hash'
  const newUser = { email: { email, key: email }, username: { username, key: username }, name: null, passwordHash }
  const user = await database.transaction((sql) => newUsers.create(sql, newUser))
  if ('refused' in user) throw new Error(user.refused)
  const session = (provider: 'provider_a' | 'provider_b') =>
    database.transaction((sql) => sessions.beginSession(sql, unchecked(user), { ...passwordFacts, provider }, client))
  const [own, other] = [await session('provider_b'), await session('provider_a')]
  await database.transaction(async (sql) => {
    await oneTimeTokens.replaceReset(sql, user.id, `reset ${username}`)
    await oneTimeTokens.replaceRestoreLink(sql, user.id, `restore ${username}`)
    await trustedDevices.add(sql, user.id, { client, trustedDevices: [] })
    for (const by of [{ way: 'password' }, { way: 'provider', provider: 'provider_a' }] as const)
      await pendingSignIns.begin(sql, {
        by,
        user,
        kind: 'second_factor',
        facts: passwordFacts,
        passwordHash,
        link: undefined,
        isOpened: false,
        client,
      })
    await sql.query(
      `insert into personal_tokens (id, user_id, name, hash, applications, created_at, expires_at)
       values (gen_random_uuid(), $1, 'Phone', decode(md5($2), 'hex'), '{}', now(), now() + interval '1 day')`,
      [user.id, username],
    )
    await sql.query(
      `insert into mailed_codes (holder, id, user_id, tries_left, expires_at)
       values ($1, gen_random_uuid(), $2, 5, now() + interval '1 hour')`,
      [`session ${username}`, user.id],
    )
    await sql.query(
      `insert into email_changes (user_id, email, email_key, hash, session_id, code_tries_left, asked_at, expires_at)
       values ($1, $2, $2, decode(md5($2), 'hex'), gen_random_uuid(), 5, now(), now() + interval '1 day')`,
      [user.id, `new-${email}`],
    )
    await sql.query(
      `insert into undos (hash, user_id, kind, email, email_key, since, made_at, expires_at)
       select decode(md5(address || $2), 'hex'), $1, 'email', address || $2, address || $2, since, since, now() + interval '1 day'
       from (values ('first-', now() - interval '2 days'), ('later-', now() - interval '1 day')) as moved (address, since)`,
      [user.id, email],
    )
    await sql.query('delete from outgoing_webhooks where user_id = $1', [user.id])
  })
  if (!own || !other) throw new Error('No session began')
  return { user, own: own.sessionId, other: other.sessionId }
}
