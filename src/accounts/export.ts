import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { AccountExport } from '../contract/account-export.js'
import { mailEventKinds } from '../contract/events.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Clock } from '../lib/clock.js'
import { isoTime, showWith, type Views } from '../lib/views.js'
import type { Events, StoredEvent } from '../messages/events.js'
import { kindsHiddenFromUsers } from '../messages/mails.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { PersonalTokensRoom } from '../personal-tokens/open-personal-tokens.js'
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
  PersonalTokensRoom &
  RegistrationRoom &
  ConfiguredProviders & { emailChanges: EmailChanges; clock: Clock }

const orNull = (date: Date | null) => date?.toISOString() ?? null

/** What the export says of each thing that is stored: a field that is added to one of them does not compile until it has its line here. */
const views = {
  emailChange: {
    email: true,
    askedAt: isoTime,
    expiresAt: isoTime,
    codeSessionId: 'not shown: it says only where the code is typed',
  },
  emailOfHistory: { email: true, replacedAt: isoTime },
  formerEmail: { email: true, reservedUntil: isoTime },
  agreedTerms: { version: true, agreedAt: isoTime },
  formerUsername: {
    username: true,
    key: 'not shown: the same name in the form that is compared',
    reservedUntil: isoTime,
    counts: 'not shown: it is for the rule of how many there may be',
  },
  registration: { email: true, confirmedAt: orNull, expiresAt: isoTime },
  invitation: {
    email: true,
    groups: (groups) => [...groups],
    madeBy: 'not shown: the person invited was not told who made it',
    invitedBy: true,
    returnTo: true,
    createdAt: isoTime,
    expiresAt: isoTime,
  },
  mail: { to: (address) => address ?? '', kind: true, createdAt: isoTime, sentAt: orNull },
  identity: { provider: true, subject: true, email: true, linkedAt: isoTime },
  undoneIdentity: { provider: true, subject: true, undoneAt: isoTime },
  trustedDevice: { id: true, ip: true, userAgent: true, createdAt: isoTime, expiresAt: isoTime },
  personalToken: {
    id: true,
    name: true,
    applications: (applications) => applications.map(({ id, name }) => ({ id, name })),
    createdAt: isoTime,
    expiresAt: isoTime,
    lastUsedAt: orNull,
  },
  session: {
    id: true,
    ip: true,
    userAgent: true,
    username: true,
    methods: true,
    provider: true,
    administers: true,
    bound: true,
    application: true,
    createdAt: isoTime,
    lastUsedAt: isoTime,
    expiresAt: isoTime,
  },
  consent: { application: true, scopes: true, givenAt: isoTime },
  event: {
    id: true,
    kind: true,
    userId: 'not shown: it is the user',
    username: 'not shown: the name of the user, or what somebody typed',
    nameMark: 'not shown: a mark of what was typed',
    sessionId: 'not shown: the sessions have a list of their own',
    reason: true,
    requestId: 'not shown: it leads operators to their log',
    ip: true,
    userAgent: true,
    createdAt: isoTime,
    actorId: 'not shown: who acted is for operators',
    actor: 'not shown: who acted is for operators',
    actorKey: 'not shown: who acted is for operators',
    actorReason: 'not shown: support does not see it either',
    details: 'not shown: it is about an application or a setting',
  },
} as const satisfies ExportViews

/** `List`: the list of the export that has these things. */
type ViewsOf<Find extends (...given: never[]) => Promise<readonly unknown[]>, List extends keyof AccountExport> = Views<
  Awaited<ReturnType<Find>>[number],
  AccountExport[List] extends readonly (infer Element)[] ? Element : never
>

type ExportViews = {
  emailChange: Views<
    NonNullable<Awaited<ReturnType<EmailChanges['waitingOf']>>>,
    NonNullable<AccountExport['emailChange']>
  >
  emailOfHistory: ViewsOf<Services['userChanges']['emailHistoryOf'], 'emailHistory'>
  formerEmail: ViewsOf<Services['undos']['formerEmailsOf'], 'formerEmails'>
  agreedTerms: ViewsOf<Services['terms']['agreedBy'], 'agreedTerms'>
  formerUsername: ViewsOf<Services['usernames']['formerNamesOf'], 'formerUsernames'>
  registration: ViewsOf<Services['registrations']['findByEmails'], 'registrations'>
  invitation: ViewsOf<Services['invitations']['findByEmails'], 'invitations'>
  mail: ViewsOf<Services['mails']['sentTo'], 'mails'>
  identity: ViewsOf<Services['identityLinks']['identitiesOf'], 'identities'>
  undoneIdentity: ViewsOf<Services['identityLinks']['undoneIdentitiesOf'], 'undoneIdentities'>
  trustedDevice: ViewsOf<Services['trustedDevices']['list'], 'trustedDevices'>
  personalToken: ViewsOf<Services['personalTokens']['list'], 'personalTokens'>
  session: ViewsOf<Services['sessionLookups']['list'], 'sessions'>
  consent: ViewsOf<Services['usedApplications']['consentsOf'], 'consents'>
  event: Views<StoredEvent, AccountExport['events'][number]>
}

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
    emailChange: waiting ? showWith(views.emailChange, waiting) : null,
    emailHistory: (await userChanges.emailHistoryOf(userId)).map((each) => showWith(views.emailOfHistory, each)),
    formerEmails: (await undos.formerEmailsOf(userId)).map((each) => showWith(views.formerEmail, each)),
    agreedTerms: (await terms.agreedBy(userId)).map((each) => showWith(views.agreedTerms, each)),
    formerUsernames: (await usernames.formerNamesOf(userId)).map((each) => showWith(views.formerUsername, each)),
  }
}

/** What is stored under the addresses of the user. */
const storedUnderAddresses = async (
  { registrations, invitations, mails }: Services,
  userId: string,
  emails: readonly string[],
) => ({
  registrations: (await registrations.findByEmails(emails)).map((each) => showWith(views.registration, each)),
  invitations: (await invitations.findByEmails(emails)).map((each) => showWith(views.invitation, each)),
  mails: (await mails.sentTo(userId, emails)).map((each) => showWith(views.mail, each)),
})

/** Providers, factors and trusted devices. */
const waysInOf = async (services: Services, id: string) => {
  const { identityLinks, factors, passkeys, trustedDevices, personalTokens } = services
  const { totpCreatedAt: totp, recoveryCodesLeft } = await factors.describe(id)
  return {
    identities: (await identityLinks.identitiesOf(id)).map((each) => showWith(views.identity, each)),
    undoneIdentities: (await identityLinks.undoneIdentitiesOf(id)).map((each) => showWith(views.undoneIdentity, each)),
    factors: {
      totp: totp ? { createdAt: totp.toISOString() } : null,
      recoveryCodes: { left: recoveryCodesLeft },
      passkeys: (await passkeys.list(id)).map(passkeyBody),
    },
    trustedDevices: (await trustedDevices.list(id)).map((each) => showWith(views.trustedDevice, each)),
    personalTokens: (await personalTokens.list(id)).map((each) => showWith(views.personalToken, each)),
  }
}

const activityOf = async ({ sessionLookups, usedApplications, events }: Services, id: string) => ({
  sessions: (await sessionLookups.list(id)).map((each) => showWith(views.session, each)),
  applications: (await usedApplications.listOfUser(id)).map(usedApplicationBody),
  consents: (await usedApplications.consentsOf(id)).map((each) => showWith(views.consent, each)),
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
      .map((each) => showWith(views.event, each)),
    eventsComplete: newest.length <= maxEvents,
  }
}
