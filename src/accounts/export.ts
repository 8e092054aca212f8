import type { Undos } from '../account-changes/undos.js'
import type { UsedApplications } from '../applications/used-applications.js'
import type { AccountExport } from '../contract/account-export.js'
import { mailEventKinds } from '../contract/events.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Clock } from '../lib/clock.js'
import type { Events, StoredEvent } from '../messages/events.js'
import { kindsHiddenFromUsers, type Mails } from '../messages/mails.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { Invitations } from '../registration/invitations.js'
import type { Registrations } from '../registration/registrations.js'
import type { Rooms } from '../service/open-rooms.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Terms } from '../users/terms.js'
import type { Usernames } from '../users/usernames.js'
import type { User, UserChanges } from '../users/users.js'
import type { EmailChanges } from './email-changes.js'
import { accountBody, passkeyBody, usedApplicationBody } from './user-bodies.js'

type NamesDependencies = {
  userChanges: UserChanges
  usernames: Usernames
  emailChanges: EmailChanges
  undos: Undos
  terms: Terms
}

/** Usernames and addresses that the account had, or waits for, and the terms that were agreed to. */
const createNamesData =
  ({ userChanges, usernames, emailChanges, undos, terms }: NamesDependencies) =>
  async (userId: string) => {
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

type AddressesDependencies = {
  registrations: Registrations
  invitations: Invitations
  mails: Mails
}

/** What is stored under the addresses of the user. */
const createAddressesData =
  ({ registrations, invitations, mails }: AddressesDependencies) =>
  async (userId: string, emails: readonly string[]) => ({
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

type WaysInDependencies = {
  identityLinks: IdentityLinks
  factors: Factors
  passkeys: Passkeys
  trustedDevices: TrustedDevices
}

/** Providers, factors and trusted devices. */
const createWaysInData =
  ({ identityLinks, factors, passkeys, trustedDevices }: WaysInDependencies) =>
  async (id: string) => {
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

/** More than an account has in 90 days, unless it is attacked. */
const maxEvents = 10_000

/**
 * Whether the export shows an event. Events of mails to a new address that the user asked for are left out, as these mails are left out
 * of the list of mails: their kind would show whether the address has an account.
 */
const isShown = ({ kind, reason }: StoredEvent) =>
  !(mailEventKinds.some((each) => each === kind) && kindsHiddenFromUsers.some((each) => reason?.startsWith(each)))

type ActivityDependencies = {
  sessionLookups: SessionLookups
  usedApplications: UsedApplications
  events: Events
}

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

const createActivityData =
  ({ sessionLookups, usedApplications, events }: ActivityDependencies) =>
  async (id: string) => ({
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

type Dependencies = {
  clock: Clock
  names: ReturnType<typeof createNamesData>
  addresses: ReturnType<typeof createAddressesData>
  waysIn: ReturnType<typeof createWaysInData>
  activity: ReturnType<typeof createActivityData>
}

/** Collects what is stored about a user. A new table with personal data is added to one of the parts above. */
export const createAccountData =
  ({ clock, names, addresses, waysIn, activity }: Dependencies) =>
  async (user: User) => {
    const { id: userId } = user
    const namesData = await names(userId)
    const collected: AccountExport = {
      exportedAt: clock.now().toISOString(),
      account: accountBody(user, user.fields),
      ...namesData,
      ...(await addresses(userId, [user.email, ...namesData.formerEmails.map(({ email }) => email)])),
      ...(await waysIn(userId)),
      ...(await activity(userId)),
    }
    return collected
  }

/** Composes the data of an account, for the export by its user and for `latchkey user export`. */
export const composeAccountData = (nouns: Rooms, clock: Clock) =>
  createAccountData({
    clock,
    names: createNamesData(nouns),
    addresses: createAddressesData(nouns),
    waysIn: createWaysInData(nouns),
    activity: createActivityData(nouns),
  })
