import { isLanguage } from '../contract/languages.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint } from '../lib/random.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Database } from '../platform/database/database.js'
import { type LoginNameKind, readLogin } from '../users/login-names.js'
import { emailKey, readEmail, readUsername } from '../users/names.js'
import type { NewUser } from '../users/new-users.js'
import type { UsersRoom } from '../users/open-users.js'
import * as store from './registrations.store.js'

export type RegistrationServices = UsersRoom & MessagesRoom & { database: Database; clock: Clock }

export type PendingRegistration = {
  id: string
  passwordHash: string
  user: NewUser
  /** The version of the terms that the user has agreed to in the form. */
  agreedTerms: string | undefined
}

type CodeRefusal = 'invalid_code' | 'already_confirmed' | 'tries_used_up'

/** Whether the account of the address was deleted. The browser still sees what it saw before, because its user may be a stranger. */
export const isForgotten = ({ email }: store.PendingRow) => email === ''

const toPending = (row: store.PendingRow): PendingRegistration => {
  const email = readEmail(row.email)
  const username = readUsername(row.username)
  if (isRefused(email) || isRefused(username))
    throw new Error('A pending registration holds a name that is no longer allowed')
  const { id, name, fields, password_hash: passwordHash } = row
  const language = isLanguage(row.language) ? row.language : undefined
  const agreedTerms = row.terms_version ?? undefined
  return { id, passwordHash, user: { email, username, name, passwordHash, language, fields }, agreedTerms }
}

/** The row of a link, and the refusal if the link does not work. A link that does not work any more may still have its row. */
const rowOfLink = async (
  { database, clock }: RegistrationServices,
  token: string,
  browserToken: string | undefined,
) => {
  const hash = fingerprint(token)
  const browserHash = browserToken === undefined ? null : fingerprint(browserToken)
  const [row] = await store.selectByToken(database, hash, browserHash, clock.now())
  if (!row) return { refusal: refuse('invalid_link') }
  if (row.confirmed) return { row, refusal: refuse('already_confirmed') }
  return equalInConstantTime(row.token_hash, hash) ? { row } : { row, refusal: refuse('link_replaced') }
}

/** The newest registration of this browser, even if it is confirmed. */
export const newestOfBrowser = async ({ database, clock }: RegistrationServices, browserToken: string | undefined) => {
  const [row] = browserToken ? await store.selectByBrowser(database, fingerprint(browserToken), clock.now()) : []
  return row
}

const selectOwn: Record<LoginNameKind, typeof store.selectOwnByEmail> = {
  email: store.selectOwnByEmail,
  username: store.selectOwnByUsername,
}
const selectNewest: Record<LoginNameKind, typeof store.selectNewestByEmail> = {
  email: store.selectNewestByEmail,
  username: store.selectNewestByUsername,
}

/** The waiting registration that this browser began with this email or name, as typed into the sign-in form. */
const ownRow = async ({ database, clock }: RegistrationServices, login: string, browserToken: string) => {
  const browserHash = fingerprint(browserToken)
  const { kind, key } = readLogin(login)
  const [row] = await selectOwn[kind](database, key, browserHash, clock.now())
  return row
}

/** The state of a registration, found by its link or by the browser that registered. */
type RegistrationState = 'waiting' | 'confirmed' | 'replaced' | 'unknown'
type BrowserRegistration = { state: RegistrationState; codeUsable: boolean; applicationId?: string | undefined }

const linkStates = { invalid_link: 'unknown', already_confirmed: 'confirmed', link_replaced: 'replaced' } as const

const applicationOf = ({ application_id: id }: store.PendingRow) => id ?? undefined

/** Finds registrations that wait for the proof of their address by what a browser or a mail has, and describes them for its pages. */
export const pendingRegistrationsIn = (services: RegistrationServices) => {
  const { database, clock, mailedCodes } = services
  return {
    /** The waiting registration that this browser began. Registrations of others are never looked at. */
    findByLogin: async (login: string, browserToken: string | undefined) => {
      const row = browserToken === undefined ? undefined : await ownRow(services, login, browserToken)
      return row && { passwordHash: row.password_hash }
    },

    findByBrowser: async (token: string, browserToken: string | undefined) => {
      const { row, refusal } = await rowOfLink(services, token, browserToken)
      if (refusal) return refusal
      return row.is_this_browser ? toPending(row) : refuse('password_required')
    },

    /** The caller must still compare the password. The try is counted already. */
    findForPassword: async (token: string) => {
      const [row] = await store.spendTryByToken(database, fingerprint(token), clock.now())
      return row ? toPending(row) : refuse('invalid_link')
    },

    findByCode: async (
      code: string,
      browserToken: string | undefined,
    ): Promise<PendingRegistration | Refused<CodeRefusal>> => {
      const rows = browserToken ? await store.spendTryByBrowser(database, fingerprint(browserToken), clock.now()) : []
      const matchingRow = rows.find((row) => !isForgotten(row) && mailedCodes.isCodeOf(row.id, code))
      if (matchingRow) return toPending(matchingRow)
      const [newestTried] = rows
      if (newestTried) return refuse(newestTried.code_tries_left > 0 ? 'invalid_code' : 'tries_used_up')
      const newest = await newestOfBrowser(services, browserToken)
      if (!newest) return refuse('invalid_code')
      return refuse(newest.confirmed ? 'already_confirmed' : 'tries_used_up')
    },

    /** Whether a link still works, and what it needs. */
    describeLink: async (token: string, browserToken: string | undefined) => {
      const { row, refusal } = await rowOfLink(services, token, browserToken)
      const otherFields = { passwordRequired: false, newerMail: false, codeUsable: false }
      if (refusal)
        return { state: linkStates[refusal.refused], applicationId: row && applicationOf(row), ...otherFields }
      const newerMail = (await store.selectNewer(database, row.id, clock.now())).length > 0
      const link = { state: 'waiting' as const, passwordRequired: !row.is_this_browser, newerMail, codeUsable: false }
      return { ...link, applicationId: applicationOf(row) }
    },

    /** The state of the registration that this browser began. */
    stateForBrowser: async (browserToken: string | undefined): Promise<BrowserRegistration> => {
      const row = await newestOfBrowser(services, browserToken)
      if (!row) return { state: 'unknown', codeUsable: false }
      const codeUsable = !row.confirmed && row.code_tries_left > 0
      return { state: row.confirmed ? 'confirmed' : 'waiting', codeUsable, applicationId: applicationOf(row) }
    },
  }
}

/** A registration without username and name, because anyone may have typed them. */
type StoredRegistration = { email: string; confirmedAt: Date | null; expiresAt: Date }

/** Whether a registration waits under an email or a name. */
export const hasWaiting = async ({ database, clock }: RegistrationServices, login: string) => {
  const { kind, key } = readLogin(login)
  return (await selectNewest[kind](database, key, clock.now())).length > 0
}

/** All registrations with these addresses, even confirmed ones. */
export const findByEmails = async (
  { database, clock }: RegistrationServices,
  emails: readonly string[],
): Promise<StoredRegistration[]> => {
  const rows = await store.selectOfEmails(database, emails.map(emailKey), clock.now())
  return rows.map((row) => ({ email: row.email, confirmedAt: row.confirmed_at, expiresAt: row.expires_at }))
}
