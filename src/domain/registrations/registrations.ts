import { isLanguage } from '../../contract/languages.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { hours, minutes } from '../../lib/durations.js'
import { fingerprint, randomToken, sameBytes } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import { type Database, isUniqueViolation, type Transaction } from '../../platform/database/database.js'
import type { Invitations } from '../invitations/invitations.js'
import type { MailedCodes } from '../mailed-codes/mailed-codes.js'
import type { Mails } from '../mails/mails.js'
import type { Client } from '../sessions/client.js'
import { undoLifetime } from '../undos/undos.js'
import { emailKey, readEmail } from '../users/email.js'
import { readUsername } from '../users/username.js'
import type { NewUser, User, Users } from '../users/users.js'
import type { GateRefusal } from './registration-gate.js'
import * as store from './registrations.store.js'
import { createWaitingRegistrations, findOwn } from './waiting-registrations.js'

export const registrationLifetime = 24 * hours
/** For a whole registration: a new mail gives no new tries, which would allow more guesses. */
const tries = 5

export type Pending = { id: string; passwordHash: string; user: NewUser }

/** The state of a registration, for its link or the browser that registered. */
type RegistrationState = 'waiting' | 'confirmed' | 'replaced' | 'unknown'
type OfBrowser = { state: RegistrationState; codeUsable: boolean }
type CodeRefusal = 'invalid_code' | 'already_confirmed' | 'tries_used_up'
type Completed =
  | { user: User; invited: boolean }
  | Refused<'already_confirmed' | 'already_registered' | 'username_taken_since' | GateRefusal>
type Mailed = { id: string; email: string; expiresAt: Date; triesLeft: number; withheld: boolean }
type Beginning = { invite?: string; earlier?: string | undefined; withheld: boolean }
type SentAgain = undefined | Refused<'no_registration_waiting' | 'already_confirmed'>

/** The account of its address was deleted. Its browser sees what it saw before, because it may belong to a stranger. */
const isForgotten = ({ email }: store.PendingRow) => email === ''

const linkStates = { invalid_link: 'unknown', already_confirmed: 'confirmed', link_replaced: 'replaced' } as const

const toPending = (row: store.PendingRow): Pending => {
  const email = readEmail(row.email)
  const username = readUsername(row.username)
  if (isRefused(email) || isRefused(username))
    throw new Error('A pending registration holds a name that is no longer allowed')
  const { id, name, password_hash: passwordHash } = row
  const language = isLanguage(row.language) ? row.language : undefined
  return { id, passwordHash, user: { email, username, name, passwordHash, language } }
}

/**
 * A mail names whole hours, or minutes if less than an hour is left. Rounded up: minutes after the first mail it is still
 * "24 hours".
 */
const inWholeUnits = (span: number) => {
  const unit = span > hours ? hours : minutes
  return Math.ceil(span / unit) * unit
}

/** To the owner of the address, or to the one for whom it is reserved. */
const letterTo = (email: string, owner: User | undefined, formerOwner: string | undefined) => {
  if (owner) return { to: owner.email, userId: owner.id, template: 'already-registered', values: {} } as const
  if (formerOwner === undefined) return undefined
  const values = { reservedFor: undoLifetime }
  return { to: email, userId: formerOwner, template: 'address-reserved', values } as const
}

export type Registrations = ReturnType<typeof createRegistrations>

type Dependencies = {
  database: Database
  users: Users
  invitations: Pick<Invitations, 'admit'>
  mails: Pick<Mails, 'queue'>
  clock: Clock
  mailedCodes: Pick<MailedCodes, 'codeOf' | 'isCodeOf'>
}

export const createRegistrations = (deps: Dependencies) => {
  const { database, users, invitations, mails, clock, mailedCodes } = deps
  /**
   * The owner of an email that has an account, or had one until a short time ago, gets a mail that says so; otherwise the
   * mail has the link, and the code while there are tries for it. The result and the written rows do not show which of the
   * two it was.
   */
  const queueMail = async (sql: Transaction, mailed: Mailed, token: string, client: Client) => {
    const { id, email, expiresAt, triesLeft, withheld } = mailed
    const owner = await users.holdByEmail(sql, email)
    const formerOwner = await users.reservedFor(sql, email)
    const code = triesLeft > 0 ? mailedCodes.codeOf(id) : undefined
    const validFor = inWholeUnits(expiresAt.getTime() - clock.now().getTime())
    const verify = { to: email, userId: null, template: 'verify-email', values: { token, code, validFor } } as const
    const letter = letterTo(email, owner, formerOwner) ?? verify
    return mails.queue(sql, { ...letter, client, withheld })
  }

  /**
   * Stores a registration until its email is verified, and returns the secret for this browser. `invite`: what allowed it.
   * `withheld`: the mail is not sent. `earlier`: the secret that this browser had. What was mailed for it to the same address stays
   * good, because this mail may not be sent; and if it is sent, the answers must not differ.
   */
  const begin = (user: NewUser, client: Client, { invite, earlier, withheld }: Beginning) =>
    database.transaction(async (sql) => {
      const now = clock.now()
      const id = uuidv7(now)
      const expiresAt = later(now, registrationLifetime)
      const token = randomToken()
      const browserToken = randomToken()
      if (earlier !== undefined) {
        const secrets = { earlier: fingerprint(earlier), next: fingerprint(browserToken) }
        await store.bindNewSecret(sql, { emailKey: user.email.key, ...secrets }, now)
      }
      await store.insertPending(sql, {
        id,
        email: user.email.email,
        emailKey: user.email.key,
        username: user.username.username,
        usernameKey: user.username.key,
        name: user.name,
        passwordHash: user.passwordHash,
        tokenHash: fingerprint(token),
        browserHash: fingerprint(browserToken),
        tries,
        expiresAt,
        invitationHash: invite === undefined ? null : fingerprint(invite),
        language: client.language ?? null,
      })
      const mailed = { id, email: user.email.email, expiresAt, triesLeft: tries, withheld }
      if (isRefused(await queueMail(sql, mailed, token, client))) await store.markNotMailed(sql, id)
      return browserToken
    })

  /** A mail with a new link. The older link works until the new mail is queued, so that one link always works. */
  const sendAgain = (
    { id, email }: { id: string; email: string },
    client: Client,
    withheld: boolean,
  ): Promise<SentAgain> =>
    database.transaction(async (sql): Promise<SentAgain> => {
      // Before the registration, as a deletion does.
      await users.lockUsersOfAddress(sql, email)
      const [row] = await store.lockWaiting(sql, id, clock.now())
      if (!row) return refuse('no_registration_waiting')
      if (isForgotten(row)) return undefined
      const token = randomToken()
      const mailed = { id, email: row.email, expiresAt: row.expires_at, triesLeft: row.code_tries_left, withheld }
      const queued = await queueMail(sql, mailed, token, client)
      if (!isRefused(queued)) await store.replaceToken(sql, id, fingerprint(token))
      return undefined
    })

  const byToken = async (token: string, browserToken: string | undefined) => {
    const hash = fingerprint(token)
    const browserHash = browserToken === undefined ? null : fingerprint(browserToken)
    const [row] = await store.selectByToken(database, hash, browserHash, clock.now())
    if (!row) return refuse('invalid_link')
    if (row.confirmed) return refuse('already_confirmed')
    return sameBytes(row.token_hash, hash) ? row : refuse('link_replaced')
  }

  const byBrowser = async (browserToken: string | undefined) => {
    const [row] = browserToken ? await store.selectByBrowser(database, fingerprint(browserToken), clock.now()) : []
    return row
  }

  return {
    begin,

    /** The waiting registration that this browser began: what others have registered is never looked at. */
    findByLogin: async (login: string, browserToken: string | undefined) => {
      const row = browserToken === undefined ? undefined : await findOwn({ database, clock }, login, browserToken)
      return row && { passwordHash: row.password_hash }
    },

    findByBrowser: async (token: string, browserToken: string | undefined) => {
      const row = await byToken(token, browserToken)
      if (isRefused(row)) return row
      return row.bound ? toPending(row) : refuse('password_required')
    },

    /** The caller must still compare the password. The try is already counted. */
    findForPassword: async (token: string) => {
      const [row] = await store.spendTryByToken(database, fingerprint(token), clock.now())
      return row ? toPending(row) : refuse('invalid_link')
    },

    findByCode: async (code: string, browserToken: string | undefined): Promise<Pending | Refused<CodeRefusal>> => {
      const rows = browserToken ? await store.spendTryByBrowser(database, fingerprint(browserToken), clock.now()) : []
      const meant = rows.find((row) => !isForgotten(row) && mailedCodes.isCodeOf(row.id, code))
      if (meant) return toPending(meant)
      const [newest] = rows
      if (newest) return refuse(newest.code_tries_left > 0 ? 'invalid_code' : 'tries_used_up')
      const known = await byBrowser(browserToken)
      if (!known) return refuse('invalid_code')
      return refuse(known.confirmed ? 'already_confirmed' : 'tries_used_up')
    },

    /** Whether a link still works, and what it needs. Changes nothing. */
    lookAtLink: async (token: string, browserToken: string | undefined) => {
      const row = await byToken(token, browserToken)
      const other = { passwordRequired: false, newerMail: false, codeUsable: false }
      if (isRefused(row)) return { state: linkStates[row.refused], ...other }
      const newerMail = (await store.selectNewer(database, row.id, clock.now())).length > 0
      return { state: 'waiting' as const, passwordRequired: !row.bound, newerMail, codeUsable: false }
    },

    /** The state of the registration that this browser began. */
    stateForBrowser: async (browserToken: string | undefined): Promise<OfBrowser> => {
      const row = await byBrowser(browserToken)
      if (!row) return { state: 'unknown', codeUsable: false }
      return { state: row.confirmed ? 'confirmed' : 'waiting', codeUsable: !row.confirmed && row.code_tries_left > 0 }
    },

    sendAgainToBrowser: async (
      browserToken: string | undefined,
      client: Client,
      withheld: boolean,
    ): Promise<SentAgain> => {
      const row = await byBrowser(browserToken)
      if (!row) return refuse('no_registration_waiting')
      return row.confirmed ? refuse('already_confirmed') : sendAgain(row, client, withheld)
    },

    sendAgainToEmail: async (email: string, client: Client, withheld: boolean) => {
      const [row] = await store.selectNewestByEmail(database, emailKey(email), clock.now())
      if (row) await sendAgain(row, client, withheld)
    },

    /**
     * Creates the account, once: a second request finds no registration. Registration may have been closed since it began. An
     * invitation that was open then still counts, unless it was used, withdrawn or replaced by a new one.
     */
    complete: (pending: Pending): Promise<Completed> =>
      database
        .transaction(async (sql): Promise<Completed> => {
          const now = clock.now()
          const [mine] = await store.lockWaiting(sql, pending.id, now)
          if (!mine) return refuse('already_confirmed')
          const { user } = pending
          const openAt = later(mine.expires_at, -registrationLifetime)
          const invited = { email: user.email, openAt, hash: mine.invitation_hash }
          const admitted = await invitations.admit(sql, invited, () => users.createWithPassword(sql, user))
          // Another registration with the same invitation may have been faster.
          if (isRefused(admitted))
            return (await users.findByEmail(sql, user.email.email)) ? refuse('already_registered') : admitted
          const { created } = admitted
          if (isRefused(created))
            return refuse(created.refused === 'email_taken' ? 'already_registered' : 'username_taken_since')
          await store.markConfirmed(sql, pending.id, now)
          return { user: created, invited: admitted.invited }
        })
        .catch(async (error: unknown) => {
          if (!isUniqueViolation(error)) throw error
          const isReserved = (await users.reservedFor(pending.user.email.email)) !== undefined
          return refuse(isReserved ? 'already_registered' : 'username_taken_since')
        }),

    ofEmails: createWaitingRegistrations({ database, clock }).ofEmails,
  }
}
