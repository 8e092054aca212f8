import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { AccountExport } from '../contract/account-export.js'
import { mailEventKinds } from '../contract/events.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Clock } from '../lib/clock.js'
import type { Events, StoredEvent } from '../messages/events.js'
import { kindsHiddenFromUsers } from '../messages/mails.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { ConfiguredProviders } from '../providers/open-providers.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import type { EmailChanges } from './email-changes.js'
import { accountBody, passkeyBody, usedApplicationBody } from './user-bodies.js'

type Services = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom &
  RegistrationRoom &
  ConfiguredProviders & { emailChanges: EmailChanges; clock: Clock }

/** Collects what is stored about a user. A new table with personal data is added to one of the parts below. */
export const accountData = async (services: Services, user: User) => {
  const { id: userId } = user
  const names = await namesOf(services, userId)
  const emails = [user.email, ...names.formerEmails.map(({ email }) => email)]
  const collected: AccountExport = {
    exportedAt: services.clock.now().toISOString(),
    account: accountBody(user, user.fields),
    ...names,
    ...(await storedUnderAddresses(services, userId, emails)),
    ...(await waysInOf(services, userId)),
    ...(await activityOf(services, userId)),
  }
  return collected
}

/** Usernames and addresses that the account had, or waits for, and the terms that were agreed to. */
const namesOf = async ({ userChanges, usernames, emailChanges, undos, terms }: Services, userId: string) => {
  const waiting = await emailChanges.waitingOf(userId)
  return {
    emailChange: waiting
      ? {
          email: waiting.email,
          askedAt: waiting.askedAt.toISOString(),
          expiresAt: waiting.expiresAt.toISOString(),
        }
      : null,
    emailHistory: (await userChanges.emailHistoryOf(userId)).map(({ email, replacedAt }) => ({
      email,
      replacedAt: replacedAt.toISOString(),
    })),
    formerEmails: (await undos.formerEmailsOf(userId)).map(({ email, reservedUntil }) => ({
      email,
      reservedUntil: reservedUntil.toISOString(),
    })),
    agreedTerms: (await terms.agreedBy(userId)).map(({ version, agreedAt }) => ({
      version,
      agreedAt: agreedAt.toISOString(),
    })),
    formerUsernames: (await usernames.formerNamesOf(userId)).map(({ username, reservedUntil }) => ({
      username,
      reservedUntil: reservedUntil.toISOString(),
    })),
  }
}

/** What is stored under the addresses of the user. */
const storedUnderAddresses = async (
  { registrations, invitations, mails }: Services,
  userId: string,
  emails: readonly string[],
) => ({
  registrations: (await registrations.findByEmails(emails)).map(({ email, confirmedAt, expiresAt }) => ({
    email,
    confirmedAt: confirmedAt?.toISOString() ?? null,
    expiresAt: expiresAt.toISOString(),
  })),
  invitations: (await invitations.findByEmails(emails)).map(({ createdAt, expiresAt, ...invitation }) => ({
    email: invitation.email,
    groups: [...invitation.groups],
    invitedBy: invitation.invitedBy,
    returnTo: invitation.returnTo,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  })),
  mails: (await mails.sentTo(userId, emails)).map(({ to, kind, createdAt, sentAt }) => ({
    to: to ?? '',
    kind,
    createdAt: createdAt.toISOString(),
    sentAt: sentAt?.toISOString() ?? null,
  })),
})

/** Providers, factors and trusted devices. */
const waysInOf = async ({ identityLinks, factors, passkeys, trustedDevices }: Services, id: string) => {
  const { totpCreatedAt: totp, recoveryCodesLeft } = await factors.describe(id)
  return {
    identities: (await identityLinks.identitiesOf(id)).map(({ provider, subject, email, linkedAt }) => ({
      provider,
      subject,
      email,
      linkedAt: linkedAt.toISOString(),
    })),
    undoneIdentities: (await identityLinks.undoneIdentitiesOf(id)).map(({ provider, subject, undoneAt }) => ({
      provider,
      subject,
      undoneAt: undoneAt.toISOString(),
    })),
    factors: {
      totp: totp ? { createdAt: totp.toISOString() } : null,
      recoveryCodes: { left: recoveryCodesLeft },
      passkeys: (await passkeys.list(id)).map(passkeyBody),
    },
    trustedDevices: (await trustedDevices.list(id)).map((device) => ({
      id: device.id,
      ip: device.ip,
      userAgent: device.userAgent,
      createdAt: device.createdAt.toISOString(),
      expiresAt: device.expiresAt.toISOString(),
    })),
  }
}

const activityOf = async ({ sessionLookups, usedApplications, events }: Services, id: string) => ({
  sessions: (await sessionLookups.list(id)).map((session) => ({
    id: session.id,
    ip: session.ip,
    userAgent: session.userAgent,
    username: session.username,
    methods: session.methods,
    provider: session.provider,
    administers: session.administers,
    application: session.application,
    createdAt: session.createdAt.toISOString(),
    lastUsedAt: session.lastUsedAt.toISOString(),
    expiresAt: session.expiresAt.toISOString(),
  })),
  applications: (await usedApplications.listOfUser(id)).map(usedApplicationBody),
  consents: (await usedApplications.consentsOf(id)).map(({ application, scopes, givenAt }) => ({
    application,
    scopes,
    givenAt: givenAt.toISOString(),
  })),
  ...(await recordedEvents(events, id)),
})

/** More than an account has in 90 days, unless it is attacked. */
const maxEvents = 10_000

/**
 * Whether the export shows an event. Events of mails to a new address that the user asked for are left out, as these mails are left out
 * of the list of mails: their kind would show whether the address has an account.
 */
const isShown = ({ kind, reason }: StoredEvent) =>
  !(mailEventKinds.some((each) => each === kind) && kindsHiddenFromUsers.some((each) => reason?.startsWith(each)))

const recordedEvents = async (events: Events, userId: string) => {
  const newest = await events.allOf(userId, maxEvents + 1)
  return {
    events: newest
      .filter(isShown)
      .slice(0, maxEvents)
      .map(({ id, kind, reason, ip, userAgent, createdAt }) => ({
        id,
        kind,
        reason,
        ip,
        userAgent,
        createdAt: createdAt.toISOString(),
      })),
    eventsComplete: newest.length <= maxEvents,
  }
}
