import { isLanguage } from '../contract/languages.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'

import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Database } from '../platform/database/database.js'
import { readEmail, readUsername } from '../users/names.js'
import type { NewUser } from '../users/new-users.js'

import type { RegistrationRows } from './registration-states.js'
import * as store from './registrations.store.js'
import { findOwnRow } from './waiting-registrations.js'

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

type Dependencies = { database: Database; clock: Clock; mailedCodes: Pick<MailedCodes, 'isCodeOf'> }

/** Finds registrations that wait for the proof of their address, by what a browser or a mail has. */
export const createPendingRegistrations = (
  { database, clock, mailedCodes }: Dependencies,
  registrationRows: RegistrationRows,
) => {
  return {
    /** The waiting registration that this browser began. Registrations of others are never looked at. */
    findByLogin: async (login: string, browserToken: string | undefined) => {
      const row = browserToken === undefined ? undefined : await findOwnRow({ database, clock }, login, browserToken)
      return row && { passwordHash: row.password_hash }
    },

    findByBrowser: async (token: string, browserToken: string | undefined) => {
      const { row, refusal } = await registrationRows.byLink(token, browserToken)
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
      const newestOfBrowser = await registrationRows.byBrowser(browserToken)
      if (!newestOfBrowser) return refuse('invalid_code')
      return refuse(newestOfBrowser.confirmed ? 'already_confirmed' : 'tries_used_up')
    },
  }
}
