import { randomUUID } from 'node:crypto'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { mailSignInLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { GateRefusal } from '../registration/invitations.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import { readFacts, type SessionFacts } from '../sessions/session-facts.js'
import { type NameTaken, refuseTakenName } from '../users/login-names.js'
import { type Email, readEmail } from '../users/names.js'
import type { NewUser } from '../users/new-users.js'
import type { UsersRoom } from '../users/open-users.js'
import { isAddressTrusted, type User } from '../users/users.js'
import * as store from './mail-sign-ins.store.js'

const tries = 5

type Parts = UsersRoom & MessagesRoom & RegistrationRoom & { database: Database; clock: Clock }

/** `formerBrowserToken`: the value that the browser's cookie had before. `withheld`: a limit is reached, so no mail is sent. */
type SignInMailRequest = {
  email: Email
  formerBrowserToken: string | undefined
  withheld: boolean
  facts: SessionFacts
}

/** The account or the registration that the mail opens. Both are null if it opens nothing. */
type Target = { userId: string | null; email: Email | null }
const noTarget: Target = { userId: null, email: null }

/** What a right code or link opens, in the browser that asked for the mail: an account, or a registration. */
export type ProvenMail = { id: string; facts: SessionFacts } & ({ userId: string } | { email: string })

const provenMailOf = ({ id, user_id: userId, email, ...row }: store.MailSignInRow): ProvenMail | undefined => {
  const facts = readFacts(row.facts)
  if (!facts) return undefined
  if (userId !== null) return { id, facts, userId }
  return email === null ? undefined : { id, facts, email }
}

type Secrets = { token: string; code: string; validFor: number }

/** Chooses the mail for an address, and what the mail opens. Only the reader of the mail learns whether the address has an account. */
const mailFor = async ({ users, invitations }: Parts, sql: Transaction, email: Email, secrets: Secrets) => {
  const [owner, formerOwner, refusal] = await Promise.all([
    users.holdByEmail(sql, email.email),
    users.reservedFor(sql, email.email),
    invitations.refusalForNew(sql, email),
  ])
  if (owner && !owner.disabled && isAddressTrusted(owner)) {
    const values = { ...secrets, username: owner.username }
    const letter = { to: owner.email, userId: owner.id, template: 'mail-sign-in', values } as const
    return { letter, target: { ...noTarget, userId: owner.id } }
  }
  if (!owner && formerOwner === undefined && !refusal)
    return {
      letter: { to: email.email, userId: null, template: 'mail-sign-up', values: secrets } as const,
      target: { ...noTarget, email },
    }
  const userId = owner?.id ?? formerOwner ?? null
  const letter = { to: owner?.email ?? email.email, userId, template: 'no-mail-sign-in', values: {} } as const
  return { letter, target: noTarget }
}

/** The hashes by which a row is found: of the browser's token, and of this token with the address. The second finds no other address. */
const hashesOf = (browserToken: string, { key }: Email) => ({
  browserHash: fingerprint(browserToken),
  browserEmailHash: fingerprint(`${browserToken} ${key}`),
})

/**
 * Mails a code and a link, both bound to the browser that asks, and returns the value of the browser's cookie. An earlier sign-in of the
 * browser is replaced. If a limit is reached, the former code still works, provided that it was for the same address. Nothing that the
 * browser can try afterwards shows whether the address has an account, or whether a mail was sent: a row that opens nothing counts tries
 * like the others.
 */
const begin = (parts: Parts, { email, formerBrowserToken, withheld, facts }: SignInMailRequest, client: Client) => {
  const { database, clock, users, mails, mailedCodes } = parts
  return database.transaction(async (sql) => {
    const browserToken = randomToken()
    const hashes = hashesOf(browserToken, email)
    const token = randomToken()
    const id = randomUUID()
    // Users are locked before the rows that refer to them. A deletion locks in the same order, so the two cannot deadlock.
    sql.unawaited(users.lockUsersOfAddress(sql, email.email))
    const secrets = { token, code: mailedCodes.codeOf(id), validFor: mailSignInLifetime }
    const { letter, target } = await mailFor(parts, sql, email, secrets)
    const isSent = !isRefused(await mails.queue(sql, { ...letter, client, withheld }))
    const formerHashes = hashesOf(formerBrowserToken ?? browserToken, email)
    const limits = { tries, lifetime: mailSignInLifetime, clockOffset: clock.offset() }
    // This is done only for `withheld`, and not if `mails.queue` refuses: which mails it limits depends on the account, so the difference
    // would show.
    if (withheld && (await store.keepMail(sql, { from: formerHashes, to: hashes, facts, ...limits })).length > 0)
      return browserToken
    const storedTarget = isSent ? target : noTarget
    const row = {
      ...hashes,
      ...limits,
      id,
      tokenHash: fingerprint(token),
      userId: storedTarget.userId,
      email: storedTarget.email?.email ?? null,
      emailKey: storedTarget.email?.key ?? null,
      facts,
    }
    sql.unawaited(store.deleteOfBrowser(sql, formerHashes.browserHash), store.insert(sql, row))
    return browserToken
  })
}

type ChosenData = Omit<NewUser, 'passwordHash' | 'emailProven'>
type CompletionResult =
  | { user: User; facts: SessionFacts; usedInvitation: boolean }
  | Refused<'challenge_over' | 'already_registered' | 'username_taken' | GateRefusal>

const nameTaken = ({ refused }: NameTaken) => refuse(refused === 'email_taken' ? 'already_registered' : refused)

/**
 * Creates the account of an address that a mailed code has proven, without a password. This works once, because the proof is used up. The
 * gate is asked again, because registration may have been closed since.
 */
const register = async (
  { database, clock, users, newUsers, invitations, terms }: Parts,
  browserToken: string,
  chosenData: ChosenData,
  agreedTerms: string | undefined,
): Promise<CompletionResult> => {
  const completion = commitUnlessRefused(database, async (sql): Promise<CompletionResult> => {
    // Users are locked before the row of the proof. A deletion locks in the same order, so the two cannot deadlock.
    await users.lockUsersOfAddress(sql, chosenData.email.email)
    const [proof] = await store.takeProven(sql, fingerprint(browserToken), clock.offset())
    const facts = readFacts(proof?.facts)
    if (!facts) return refuse('challenge_over')
    const account = { ...chosenData, passwordHash: null, emailProven: true }
    const admitted = await invitations.admit(sql, { email: chosenData.email }, () => newUsers.create(sql, account))
    if (isRefused(admitted)) return admitted
    const { created, usedInvitation } = admitted
    if (isRefused(created)) return nameTaken(created)
    if (agreedTerms !== undefined) sql.unawaited(terms.agree(sql, created.id, agreedTerms))
    return { user: created, facts, usedInvitation }
  })
  return completion.catch((error: unknown) => nameTaken(refuseTakenName(error)))
}

/** Sign-ins with a code or a link that was mailed (MAIL_SIGN_IN). */
export const createMailSignIns = (parts: Parts) => {
  const { database, clock, mailedCodes } = parts
  return {
    begin: (request: SignInMailRequest, client: Client) => begin(parts, request, client),

    /** Finds what a link opens in this browser. A link for another browser is not used up. */
    findByToken: async (token: string, browserToken: string | undefined) => {
      const browserHash = browserToken === undefined ? null : fingerprint(browserToken)
      const [row] = await store.selectByToken(database, fingerprint(token), browserHash, clock.offset())
      const provenMail = row && provenMailOf(row)
      if (!provenMail) return refuse('invalid_link')
      return row.is_this_browser ? provenMail : refuse('other_browser')
    },

    /**
     * Finds what a code opens in this browser. The try is counted before the code is compared. In a refusal, `userId` is the user whose
     * sign-in has failed.
     */
    findByCode: async (code: string, browserToken: string | undefined) => {
      const browserHash = fingerprint(browserToken ?? '')
      const [row] = await store.spendTry(database, browserHash, clock.offset())
      if (!row) return refuse('mailed_code_void', { userId: undefined })
      const provenMail = provenMailOf(row)
      if (mailedCodes.isCodeOf(row.id, code) && row.code_works && provenMail) return provenMail
      return refuse(row.tries_left > 0 ? 'wrong_mailed_code' : 'mailed_code_void', { userId: row.user_id ?? undefined })
    },

    /** Uses a sign-in up. The transaction holds the user's row, as does every change that voids the sign-in. */
    take: async (sql: Sql, { id, userId }: { id: string; userId: string }) =>
      (await store.take(sql, id, userId, clock.offset())).length > 0,

    /**
     * Lets the registration of a proven address wait in the browser, and returns the browser's new token. Undefined if the mail was used or
     * has expired meanwhile.
     */
    prove: async (id: string) => {
      const token = randomToken()
      const proof = { browserHash: fingerprint(token), lifetime: mailSignInLifetime, clockOffset: clock.offset() }
      return (await store.markProven(database, id, proof)).length > 0 ? token : undefined
    },

    /** The proven address of the registration that waits in a browser. */
    findProven: async (browserToken: string) => {
      const [row] = await store.selectProven(database, fingerprint(browserToken), clock.offset())
      const email = row && readEmail(row.email)
      return email && !isRefused(email) ? email : undefined
    },

    register: (browserToken: string, chosen: ChosenData, agreedTerms: string | undefined) =>
      register(parts, browserToken, chosen, agreedTerms),
  }
}
