import { undoLifetime } from '../account-changes/undos.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { hours, minutes } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { Transaction } from '../platform/database/database.js'
import type { User } from '../users/users.js'
import { isForgotten, type RegistrationServices } from './pending-registrations.js'
import * as store from './registrations.store.js'

type Registration = { id: string; email: string; expiresAt: Date; triesLeft: number; withheld: boolean }
export type SendAgainResult = undefined | Refused<'no_registration_waiting' | 'already_confirmed'>

/**
 * A mail names whole hours, or minutes if less than an hour is left. They are rounded up, so that the time is still "24 hours" minutes
 * after the first mail.
 */
const inWholeUnits = (span: number) => {
  const unit = span > hours ? hours : minutes
  return Math.ceil(span / unit) * unit
}

/** The mail to the owner of the address, or to the user for whom it is reserved. Undefined if there is neither. */
const letterTo = (email: string, owner: User | undefined, formerOwner: string | undefined) => {
  if (owner) return { to: owner.email, userId: owner.id, template: 'already-registered', values: {} } as const
  if (formerOwner === undefined) return undefined
  const values = { reservedFor: undoLifetime }
  return { to: email, userId: formerOwner, template: 'address-reserved', values } as const
}

/**
 * Queues the mail with the link of a registration, and its code while there are tries for it. The owner of an email that has an account, or
 * had one until a short time ago, gets a mail that says so instead. The result and the written rows do not show which of the two it was.
 */
export const queueRegistrationMail = async (
  { users, mails, clock, mailedCodes }: RegistrationServices,
  sql: Transaction,
  registration: Registration,
  token: string,
  client: Client,
) => {
  const { id, email, expiresAt, triesLeft, withheld } = registration
  const [owner, formerOwner] = await Promise.all([users.holdByEmail(sql, email), users.reservedFor(sql, email)])
  const code = triesLeft > 0 ? mailedCodes.codeOf(id) : undefined
  const validFor = inWholeUnits(expiresAt.getTime() - clock.now().getTime())
  const verifyMail = { to: email, userId: null, template: 'verify-email', values: { token, code, validFor } } as const
  const letter = letterTo(email, owner, formerOwner) ?? verifyMail
  return mails.queue(sql, { ...letter, client, withheld })
}

/** Sends a mail with a new link. The older link works until the new mail is queued, so that one link always works. */
export const sendAgain = (
  services: RegistrationServices,
  { id, email }: { id: string; email: string },
  client: Client,
  withheld: boolean,
): Promise<SendAgainResult> =>
  services.database.transaction(async (sql): Promise<SendAgainResult> => {
    // Users are locked before the registration. A deletion locks in the same order, so the two cannot deadlock.
    await services.users.lockUsersOfAddress(sql, email)
    const [row] = await store.lockWaiting(sql, id, services.clock.now())
    if (!row) return refuse('no_registration_waiting')
    if (isForgotten(row)) return undefined
    const token = randomToken()
    const registration = { id, email: row.email, expiresAt: row.expires_at, triesLeft: row.code_tries_left, withheld }
    const refusal = await queueRegistrationMail(services, sql, registration, token, client)
    if (!refusal) sql.unawaited(store.replaceToken(sql, id, fingerprint(token)))
    return undefined
  })
