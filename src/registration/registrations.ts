import { isRefused, refuse } from '../contract/outcome.js'
import { registrationLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import { later } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'
import { uuidv7 } from '../lib/uuid.js'
import type { Transaction } from '../platform/database/database.js'
import { emailKey } from '../users/names.js'
import type { NewUser } from '../users/new-users.js'
import {
  findByEmails,
  hasWaiting,
  newestOfBrowser,
  type PendingRegistration,
  pendingRegistrationsIn,
  type RegistrationServices,
} from './pending-registrations.js'
import { queueRegistrationMail, type SendAgainResult, sendAgain } from './registration-mails.js'
import * as store from './registrations.store.js'

/** The tries of a whole registration. A new mail gives no new tries, which would allow more guesses. */
const tries = 5

type RegistrationDetails = {
  /** The version of the terms that the user has agreed to in the form. */
  agreedTerms?: string | undefined
  invite?: string | undefined
  applicationId?: string | undefined
}
type NewRegistration = RegistrationDetails & { formerBrowserToken?: string | undefined; withheld: boolean }
const storeRegistration = (
  { clock }: RegistrationServices,
  sql: Transaction,
  user: NewUser,
  client: Client,
  { invite, applicationId, agreedTerms }: RegistrationDetails,
) => {
  const now = clock.now()
  const id = uuidv7(now)
  const expiresAt = later(now, registrationLifetime)
  const token = randomToken()
  const browserToken = randomToken()
  const inserted = store.insertPending(sql, {
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
    applicationId: applicationId ?? null,
    fields: user.fields ?? {},
    termsVersion: agreedTerms ?? null,
  })
  sql.unawaited(inserted)
  return { id, token, browserToken, expiresAt }
}

/** Registrations wait until their email is verified. */
export const createRegistrations = (services: RegistrationServices) => {
  const { database, clock } = services
  return {
    /**
     * Stores a registration, and returns the secret for this browser. `invite`: the invitation that allowed it. `withheld`: the mail is not
     * sent. `formerBrowserToken`: the secret that this browser had before. With the new secret, earlier mails to the same address still
     * work: a limit may hold the new mail back, and the answers must not show that. `applicationId`: the application that the user came
     * from.
     */
    begin: (user: NewUser, client: Client, newRegistration: NewRegistration) =>
      database.transaction(async (sql) => {
        const stored = storeRegistration(services, sql, user, client, newRegistration)
        const { id, token, browserToken, expiresAt } = stored
        const { formerBrowserToken, withheld } = newRegistration
        if (formerBrowserToken !== undefined) {
          const secrets = { formerHash: fingerprint(formerBrowserToken), newHash: fingerprint(browserToken) }
          sql.unawaited(store.bindNewSecret(sql, { emailKey: user.email.key, ...secrets }, clock.now()))
        }
        const registration = { id, email: user.email.email, expiresAt, triesLeft: tries, withheld }
        if (isRefused(await queueRegistrationMail(services, sql, registration, token, client)))
          sql.unawaited(store.markNotMailed(sql, id))
        return browserToken
      }),

    /** With the link of an invitation after which nothing is left to confirm: it needs no mail, and is completed at once. */
    beginProven: (user: NewUser, client: Client, details: RegistrationDetails & { invite: string }) =>
      database.transaction(async (sql): Promise<PendingRegistration> => {
        const { id } = storeRegistration(services, sql, user, client, details)
        sql.unawaited(store.markNotMailed(sql, id))
        const { passwordHash } = user
        return { id, passwordHash, user: { ...user, language: client.language }, agreedTerms: details.agreedTerms }
      }),

    ...pendingRegistrationsIn(services),

    sendAgainToBrowser: async (
      browserToken: string | undefined,
      client: Client,
      withheld: boolean,
    ): Promise<SendAgainResult> => {
      const row = await newestOfBrowser(services, browserToken)
      if (!row) return refuse('no_registration_waiting')
      return row.confirmed ? refuse('already_confirmed') : sendAgain(services, row, client, withheld)
    },

    sendAgainToEmail: async (email: string, client: Client, withheld: boolean) => {
      const [row] = await store.selectNewestByEmail(database, emailKey(email), clock.now())
      if (row) await sendAgain(services, row, client, withheld)
    },

    hasWaiting: (login: string) => hasWaiting(services, login),
    findByEmails: (emails: readonly string[]) => findByEmails(services, emails),
  }
}
