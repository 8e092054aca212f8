import { isRefused, refuse } from '../contract/outcome.js'
import { registrationLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'

import { uuidv7 } from '../lib/uuid.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Mails } from '../messages/mails.js'

import type { Database, Transaction } from '../platform/database/database.js'
import { emailKey } from '../users/names.js'
import type { NewUser, NewUsers } from '../users/new-users.js'
import type { Users } from '../users/users.js'

import type { Invitations } from './invitations.js'
import {
  createPendingRegistrations,
  createRegistrationRows,
  createRegistrationStates,
  createWaitingRegistrations,
  type PendingRegistration,
} from './pending-registrations.js'

import { createRegistrationMails, type RegistrationMails, type SendAgainResult } from './registration-mails.js'

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
export type Registrations = ReturnType<typeof createRegistrations>

type Dependencies = {
  database: Database
  users: Users
  newUsers: NewUsers
  invitations: Invitations
  mails: Mails
  clock: Clock
  mailedCodes: MailedCodes
}

/**
 * Stores a registration until its email is verified, and returns the secret for this browser. `invite`: the invitation that allowed it.
 * `withheld`: the mail is not sent. `formerBrowserToken`: the secret that this browser had before. With the new secret, earlier mails to
 * the same address still work: a limit may hold the new mail back, and the answers must not show that. `applicationId`: the application
 * that the user came from.
 */
const createBegin =
  (deps: Dependencies, registrationMails: RegistrationMails) =>
  (user: NewUser, client: Client, newRegistration: NewRegistration) =>
    deps.database.transaction(async (sql) => {
      const { id, token, browserToken, expiresAt } = await storeRegistration(deps, sql, user, client, newRegistration)
      if (newRegistration.formerBrowserToken !== undefined) {
        const secrets = {
          formerHash: fingerprint(newRegistration.formerBrowserToken),
          newHash: fingerprint(browserToken),
        }
        await store.bindNewSecret(sql, { emailKey: user.email.key, ...secrets }, deps.clock.now())
      }
      const { withheld } = newRegistration
      const registration = { id, email: user.email.email, expiresAt, triesLeft: tries, withheld }
      if (isRefused(await registrationMails.queue(sql, registration, token, client))) await store.markNotMailed(sql, id)
      return browserToken
    })

/** Stores a registration with the link of an invitation after which nothing is left to confirm. It needs no mail, and is completed at once. */
const createBeginProven =
  (deps: Dependencies) => (user: NewUser, client: Client, details: RegistrationDetails & { invite: string }) =>
    deps.database.transaction(async (sql): Promise<PendingRegistration> => {
      const { id } = await storeRegistration(deps, sql, user, client, details)
      await store.markNotMailed(sql, id)
      const { passwordHash } = user
      return { id, passwordHash, user: { ...user, language: client.language }, agreedTerms: details.agreedTerms }
    })

const storeRegistration = async (
  { clock }: Dependencies,
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
    applicationId: applicationId ?? null,
    fields: user.fields ?? {},
    termsVersion: agreedTerms ?? null,
  })
  return { id, token, browserToken, expiresAt }
}

export const createRegistrations = (deps: Dependencies) => {
  const { database, clock } = deps
  const registrationMails = createRegistrationMails(deps)
  const { sendAgain } = registrationMails
  const registrationRows = createRegistrationRows(deps)

  return {
    begin: createBegin(deps, registrationMails),
    beginProven: createBeginProven(deps),
    ...createPendingRegistrations(deps, registrationRows),
    ...createRegistrationStates(deps, registrationRows),

    sendAgainToBrowser: async (
      browserToken: string | undefined,
      client: Client,
      withheld: boolean,
    ): Promise<SendAgainResult> => {
      const row = await registrationRows.byBrowser(browserToken)
      if (!row) return refuse('no_registration_waiting')
      return row.confirmed ? refuse('already_confirmed') : sendAgain(row, client, withheld)
    },

    sendAgainToEmail: async (email: string, client: Client, withheld: boolean) => {
      const [row] = await store.selectNewestByEmail(database, emailKey(email), clock.now())
      if (row) await sendAgain(row, client, withheld)
    },

    findByEmails: createWaitingRegistrations(deps).findByEmails,
  }
}
