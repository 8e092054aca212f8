import type { AccountExport } from '../../contract/account-export.js'
import { mailEventKinds } from '../../contract/events.js'
import { refuse } from '../../contract/outcome.js'
import type { EmailChanges } from '../../domain/email-changes/email-changes.js'
import type { EventRow, Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import type { TrustedDevices } from '../../domain/factors/trusted-devices.js'
import type { Invitations } from '../../domain/invitations/invitations.js'
import type { Mails } from '../../domain/mails/mails.js'
import { kindsHiddenFromUsers } from '../../domain/mails/sent-mails.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Undos } from '../../domain/undos/undos.js'
import type { Usernames } from '../../domain/users/usernames.js'
import type { User, Users } from '../../domain/users/users.js'
import { accountBody } from '../../http/user-bodies.js'
import type { Clock } from '../../lib/clock.js'

type Dependencies = {
  clock: Clock
  users: Pick<Users, 'identitiesOf' | 'undoneIdentitiesOf' | 'emailHistoryOf'>
  usernames: Pick<Usernames, 'formerOf'>
  emailChanges: Pick<EmailChanges, 'waitingOf'>
  undos: Pick<Undos, 'formerEmailsOf'>
  sessions: Pick<Sessions, 'list'>
  factors: Pick<Factors, 'describe'>
  passkeys: Pick<Passkeys, 'list'>
  trustedDevices: Pick<TrustedDevices, 'list'>
  events: Pick<Events, 'allOf'>
  mails: Pick<Mails, 'sentTo'>
  registrations: Pick<Registrations, 'ofEmails'>
  invitations: Pick<Invitations, 'ofEmails'>
}

/** More than an account has in 90 days, unless it is attacked. */
const mostEvents = 10_000

const placeOf = ({ ip, user_agent: userAgent }: { ip: string; user_agent: string }) => ({ ip, userAgent })

/** As in the list of mails: what became of a mail to an address that the user asked for is not said. */
const isShown = ({ kind, reason }: EventRow) =>
  !(mailEventKinds.some((each) => each === kind) && kindsHiddenFromUsers.some((each) => reason?.startsWith(each)))

const waysIn = async ({ users, factors, passkeys, trustedDevices }: Dependencies, id: string) => {
  const { totp, recoveryCodesLeft } = await factors.describe(id)
  return {
    identities: (await users.identitiesOf(id)).map(({ provider, subject, linked_at }) => ({
      provider,
      subject,
      linkedAt: linked_at.toISOString(),
    })),
    undoneIdentities: (await users.undoneIdentitiesOf(id)).map(({ provider, subject, undone_at }) => ({
      provider,
      subject,
      undoneAt: undone_at.toISOString(),
    })),
    factors: {
      totp: totp ? { createdAt: totp.toISOString() } : null,
      recoveryCodes: { left: recoveryCodesLeft },
      passkeys: await passkeys.list(id),
    },
    trustedDevices: (await trustedDevices.list(id)).map((row) => ({
      id: row.id,
      ...placeOf(row),
      createdAt: row.created_at.toISOString(),
      expiresAt: row.expires_at.toISOString(),
    })),
  }
}

const traces = async (deps: Dependencies, id: string) => ({
  sessions: (await deps.sessions.list(id)).map((row) => ({
    id: row.id,
    ...placeOf(row),
    username: row.signed_in_as,
    methods: row.methods,
    provider: row.provider,
    createdAt: row.created_at.toISOString(),
    lastUsedAt: row.last_used_at.toISOString(),
    expiresAt: row.expires_at.toISOString(),
  })),
  ...(await recordedEvents(deps, id)),
})

const recordedEvents = async ({ events }: Dependencies, id: string) => {
  const newest = await events.allOf(id, mostEvents + 1)
  return {
    events: newest
      .filter(isShown)
      .slice(0, mostEvents)
      .map((row) => ({
        id: row.id,
        kind: row.kind,
        reason: row.reason,
        ...placeOf(row),
        createdAt: row.created_at.toISOString(),
      })),
    eventsComplete: newest.length <= mostEvents,
  }
}

/** What is stored under the addresses of the user. */
const ofAddresses = async (
  { registrations, invitations, mails }: Dependencies,
  userId: string,
  emails: readonly string[],
) => ({
  // Without the names: anyone may have typed them.
  registrations: (await registrations.ofEmails(emails)).map((row) => ({
    email: row.email,
    confirmedAt: row.confirmed_at?.toISOString() ?? null,
    expiresAt: row.expires_at.toISOString(),
  })),
  invitations: (await invitations.ofEmails(emails)).map(({ email, createdAt, expiresAt }) => ({
    email,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
  })),
  mails: (await mails.sentTo(userId, emails)).map((row) => ({
    to: row.recipient ?? '',
    kind: row.kind,
    createdAt: row.created_at.toISOString(),
    sentAt: row.sent_at?.toISOString() ?? null,
  })),
})

const otherNames = async ({ users, usernames, emailChanges, undos }: Dependencies, userId: string) => {
  const waiting = await emailChanges.waitingOf(userId)
  return {
    emailChange: waiting
      ? {
          email: waiting.email,
          askedAt: waiting.asked_at.toISOString(),
          expiresAt: waiting.expires_at.toISOString(),
        }
      : null,
    emailHistory: (await users.emailHistoryOf(userId)).map((row) => ({
      email: row.email,
      replacedAt: row.replaced_at.toISOString(),
    })),
    formerEmails: (await undos.formerEmailsOf(userId)).map((row) => ({
      email: row.email,
      reservedUntil: row.reserved_until.toISOString(),
    })),
    formerUsernames: (await usernames.formerOf(userId)).map((row) => ({
      username: row.username,
      reservedUntil: row.reserved_until.toISOString(),
    })),
  }
}

/** Collects what is stored about a user. A new table with personal data is added here. */
export const createAccountData = (deps: Dependencies) => async (user: User) => {
  const { id: userId } = user
  const names = await otherNames(deps, userId)
  const collected: AccountExport = {
    exportedAt: deps.clock.now().toISOString(),
    account: accountBody(user),
    ...names,
    ...(await ofAddresses(deps, userId, [user.email, ...names.formerEmails.map(({ email }) => email)])),
    ...(await waysIn(deps, userId)),
    ...(await traces(deps, userId)),
  }
  return collected
}

/** For the caller of a request. */
export const createExportAccount = (deps: Dependencies & { users: Pick<Users, 'findEnabled'> }) => {
  const collect = createAccountData(deps)
  return async (userId: string) => {
    const user = await deps.users.findEnabled(userId)
    return user ? collect(user) : refuse('not_authenticated')
  }
}
