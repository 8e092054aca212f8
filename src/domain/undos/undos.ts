import { isProviderId } from '../../contract/providers.js'
import { undoTokenFor } from '../../contract/undo-tokens.js'
import { type Clock, later } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { emailKey } from '../users/email.js'
import type { Identity } from '../users/users.js'
import * as store from './undos.store.js'

export const undoLifetime = 7 * days

/** What was added to an account, or the address that it had. */
export type Undoable =
  | { kind: 'totp' }
  | { kind: 'passkey'; id: string }
  | { kind: 'provider'; identity: Identity }
  | { kind: 'email'; email: string }

export type Undo = Undoable & { userId: string; since: Date }

const subjectOf = (undoable: Undoable) => {
  if (undoable.kind === 'passkey') return undoable.id
  return undoable.kind === 'provider' ? `${undoable.identity.provider} ${undoable.identity.subject}` : null
}

const undoableOf = ({ kind, subject, email }: store.UndoRow): Undoable => {
  if (kind === 'totp') return { kind }
  if (kind === 'passkey' && subject !== null) return { kind, id: subject }
  if (kind === 'email' && email !== null) return { kind, email }
  const [, provider, subjectThere] = /^(\S+) (.*)$/s.exec(subject ?? '') ?? []
  if (kind !== 'provider' || !isProviderId(provider) || subjectThere === undefined)
    throw new Error('An undo in the database is about nothing')
  return { kind, identity: { provider, subject: subjectThere } }
}

const fromRow = (row: store.UndoRow): Undo => ({ ...undoableOf(row), userId: row.user_id, since: row.since })

export type Undos = ReturnType<typeof createUndos>

/**
 * The links in mails that take a change back. One about an email also reserves the address for its user, as long as the row is
 * there: triggers refuse it to everyone else.
 */
export const createUndos = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** The earlier addresses that an undo link can still put back. The present one may be among the undos too. */
  formerEmailsOf: (userId: string, sql: Sql = database) => store.selectFormerEmails(sql, userId, clock.now()),
  /** The token for the mail. `since` is when the change began, by the database's clock: now, if it is not given. */
  add: async (sql: Sql, userId: string, undoable: Undoable, since?: Date) => {
    const token = undoTokenFor(undoable.kind === 'email' ? 'email' : 'factor', randomToken())
    await store.insert(sql, {
      hash: fingerprint(token),
      userId,
      kind: undoable.kind,
      subject: subjectOf(undoable),
      email: undoable.kind === 'email' ? { email: undoable.email, key: emailKey(undoable.email) } : null,
      since: since ?? null,
      expiresAt: later(clock.now(), undoLifetime),
      clockOffset: clock.offset(),
    })
    return token
  },
  /** Without using it. */
  find: async (token: string) => {
    const [row] = await store.select(database, fingerprint(token), clock.now())
    return row && fromRow(row)
  },
  /** The caller holds a lock on the user's row. */
  take: async (sql: Sql, token: string) => {
    const [row] = await store.take(sql, fingerprint(token), clock.now())
    return row && fromRow(row)
  },
  /** The identities at providers that were linked since then, also those that were unlinked again. */
  linkedSince: async (sql: Sql, userId: string, since: Date) =>
    (await store.selectSince(sql, userId, since))
      .map(fromRow)
      .flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
  /** The links of mails about this change and later ones: some of those mails went to an address that was taken back. */
  forgetSince: (sql: Sql, userId: string, since: Date) => store.deleteSince(sql, userId, since),
  /** The user gives this address up now: from now on it can be put back, and is reserved, for the whole time. */
  extend: (sql: Sql, userId: string, email: string) =>
    store.extendOfEmail(sql, userId, emailKey(email), later(clock.now(), undoLifetime)),
  purge: async (sql: Sql, limit: number) => (await store.purge(sql, clock.now(), limit)).length,
})
