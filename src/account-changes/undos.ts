import { isLanguage, type Language } from '../contract/languages.js'
import type { UndoKind } from '../contract/mailed-links.js'
import { type UndoLinkKind, undoTokenFor } from '../contract/pages.js'
import { isProviderId } from '../contract/providers.js'
import type { Clock } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { emailKey } from '../users/names.js'
import type { Identity } from '../users/users.js'
import * as store from './undos.store.js'

export const undoLifetime = 7 * days

/** The sealed secret of an authenticator app that was replaced. */
export type FormerSecret = { id: string; sealed: string }

/**
 * What is known of each change that can be taken back: something that was added, or what the account had before. A password is never put
 * back: the owner, who takes the account back, chooses a new one.
 */
type Taken = {
  totp: unknown
  /** `former` is undefined if the account had no app before the last seven days. */
  totp_replaced: { former: FormerSecret | undefined }
  passkey: { id: string }
  token: { id: string }
  provider: { identity: Identity }
  username: { former: string }
  language: { former: Language }
  password: unknown
  email: unknown
}

export type Undoable = { [Kind in UndoKind]: { kind: Kind } & Taken[Kind] }[UndoKind]

/**
 * `email`: the address to which the mail with the link went. `since`: when the first of these mails went to that address. A later address
 * of the account has a later `since`. `isVoid`: this link no longer works, but other links still take the change back.
 */
export type Undo = Undoable & { userId: string; email: string; since: Date; expiresAt: Date; isVoid: boolean }

/** Whether the link takes a change of the email back, or another change. */
export const linkKindOf = ({ kind }: Undoable): UndoLinkKind => (kind === 'email' ? 'email' : 'factor')

/** The kind in the row. A replaced app is a row of the kind `totp` with a former secret: without the secret it is as one that was added. */
const storedKindOf = ({ kind }: Undoable) => (kind === 'totp_replaced' ? 'totp' : kind)

const subjectOf = (undoable: Undoable) => {
  if (undoable.kind === 'passkey' || undoable.kind === 'token') return undoable.id
  if (undoable.kind === 'username' || undoable.kind === 'language') return undoable.former
  return undoable.kind === 'provider' ? `${undoable.identity.provider} ${undoable.identity.subject}` : null
}

const undoableOf = ({ kind, subject, former_secret_id: id, former_secret: sealed }: store.UndoRow): Undoable => {
  if (kind === 'totp' && id !== null && sealed !== null) return { kind: 'totp_replaced', former: { id, sealed } }
  if (kind === 'totp' || kind === 'email' || kind === 'password') return { kind }
  if ((kind === 'passkey' || kind === 'token') && subject !== null) return { kind, id: subject }
  if (kind === 'username' && subject !== null) return { kind, former: subject }
  if (kind === 'language' && isLanguage(subject)) return { kind, former: subject }
  const [, provider, subjectThere] = /^(\S+) (.*)$/s.exec(subject ?? '') ?? []
  if (kind !== 'provider' || !isProviderId(provider) || subjectThere === undefined)
    throw new Error('An undo in the database is about nothing')
  return { kind, identity: { provider, subject: subjectThere } }
}

const fromRow = (row: store.UndoRow): Undo => ({
  ...undoableOf(row),
  userId: row.user_id,
  email: row.email,
  since: row.since,
  expiresAt: row.expires_at,
  isVoid: row.is_void,
})

/** An earlier address of a user, and how long no other user gets it. */
type ReservedEmail = { email: string; reservedUntil: Date }
type Addressee = { id: string; email: string }

const insert = (sql: Transaction, clock: Clock, user: Addressee, undoable: Undoable, isVoid: boolean) => {
  const token = undoTokenFor(linkKindOf(undoable), randomToken())
  const inserted = store.insert(sql, {
    hash: fingerprint(token),
    userId: user.id,
    kind: storedKindOf(undoable),
    subject: subjectOf(undoable),
    formerSecret: undoable.kind === 'totp_replaced' ? undoable.former : undefined,
    email: user.email,
    emailKey: emailKey(user.email),
    isVoid,
    lifetime: undoLifetime,
    clockOffset: clock.offset(),
  })
  sql.unawaited(inserted)
  return token
}

export type Undos = ReturnType<typeof createUndos>

/**
 * The links in mails that take an account back. Each belongs to the address to which its mail went. While its row exists, that address is
 * reserved for the user: triggers refuse it to everyone else.
 */
export const createUndos = ({ database, clock }: { database: Database; clock: Clock }) => {
  const openOf = async (sql: Sql, userId: string) => (await store.selectOpen(sql, userId, clock.offset())).map(fromRow)

  return {
    /** Another address whose reader can take the account back with a link. Then a thief may have chosen the present address. */
    formerOwnerOf: acceptTransaction(database)(
      async (sql, { id, email }: Addressee) =>
        (await openOf(sql, id)).find((undo) => !undo.isVoid && emailKey(undo.email) !== emailKey(email))?.email,
    ),
    /** The earlier addresses that an undo link can still put back. */
    formerEmailsOf: acceptTransaction(database)(async (sql, userId: string): Promise<ReservedEmail[]> => {
      const rows = await store.selectFormerEmails(sql, userId, clock.offset())
      return rows.map(({ email, reserved_until }) => ({ email, reservedUntil: reserved_until }))
    }),
    /** Adds an undo, and returns the token for the mail to the user's present address. */
    add: (sql: Transaction, user: Addressee, undoable: Undoable) => insert(sql, clock, user, undoable, false),
    /** Reserves the address for the user for some days. No mail has a link for it. */
    reserveEmail: (sql: Transaction, user: Addressee) => {
      insert(sql, clock, user, { kind: 'email' }, true)
    },
    /** Finds an undo without using it. */
    find: async (token: string) => {
      const [row] = await store.select(database, fingerprint(token), clock.offset())
      return row && fromRow(row)
    },
    /** The changes that can still be taken back, the oldest first. */
    openOf: acceptTransaction(database)(openOf),
    /** Uses an undo up. The caller holds a lock on the user's row. */
    take: async (sql: Sql, token: string) => {
      const [row] = await store.take(sql, fingerprint(token), clock.offset())
      return row && fromRow(row)
    },
    /**
     * Deletes the links that went to this address, and to addresses that the account had later. Links to an earlier address stay, because
     * its owner may have lost the account to the person who uses this link.
     */
    forgetFrom: async (sql: Sql, userId: string, email: string, since: Date) => {
      await store.deleteOfEmailAndLater(sql, userId, emailKey(email), since)
    },
    /** Voids all links but those to the first address: a thief may have changed the address, and have got the mails since. */
    voidOfLaterEmails: async (sql: Sql, userId: string) => {
      await store.voidOfLaterEmails(sql, userId, clock.offset())
    },
    /** Forgets the secrets of replaced apps, because two-step sign-in was switched off. */
    forgetFormerSecrets: async (sql: Sql, userId: string) => {
      await store.forgetFormerSecrets(sql, userId)
    },
    forgetAll: async (sql: Sql, userId: string) => {
      await store.deleteOfUser(sql, userId)
    },
    /** Extends the undos of an address that the user gives up now. From now on they can put it back, and reserve it, for the whole time. */
    extend: async (sql: Sql, userId: string, email: string) => {
      await store.extendOfEmail(sql, {
        userId,
        emailKey: emailKey(email),
        lifetime: undoLifetime,
        clockOffset: clock.offset(),
      })
    },
  }
}
