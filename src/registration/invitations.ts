import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { RegistrationMode } from '../contract/pages.js'
import { safeReturnTo } from '../contract/return-to.js'
import type { Groups } from '../groups/groups.js'
import { registrationLifetime } from '../http/cookie-table.js'
import { type Client, commandLineIp } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { MailRequest } from '../messages/mails.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { displayName, type Email, emailKey } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './invitations.store.js'

const lifetime = 7 * days
/** Of one that an operator has printed. */
const printedLifetime = 1 * days
/** A registration that began before the invitation expired may be finished later. */
const retentionAfterExpiry = registrationLifetime

export type Invitation = {
  email: string
  groups: readonly string[]
  /** `command line`, `administrator`, or `service key NAME`. */
  madeBy: string
  /** The name of the inviter, as the invited person sees it. */
  invitedBy: string | null
  /** The page to which the invited person goes afterwards. */
  returnTo: string | null
  createdAt: Date
  expiresAt: Date
}

/** Where they are left out, the values of the maker's open invitation for the address stay. */
export type InvitationWishes = {
  groups?: readonly string[] | undefined
  invitedBy?: string | undefined
  returnTo?: string | undefined
}

/**
 * An invitation belongs to its address and to its maker. Programs know nothing of each other, so each key is a maker of its own. Every
 * administrator can go on with what another one has begun.
 */
export const makerOf = ({ actor }: Pick<Client, 'actor'>) => {
  if (!actor) return commandLineIp
  return actor.serviceKey === undefined ? 'administrator' : `service key ${actor.serviceKey}`
}

const longestInviter = 64
const inviterRule = `one line of at most ${longestInviter} characters of plain text, without < and > and without invisible characters`
/** A mail with this name goes to an address that may belong to anyone. */
const isInviterName = (text: string) => displayName(text, longestInviter) === text && !/[<>]/.test(text)

type Services = UsersRoom &
  MessagesRoom & {
    database: Database
    clock: Clock
    groups: Groups
    gate: RegistrationGate
    /** The origins of pages to which an invitation may lead, besides our own. */
    allowedOrigins: readonly string[]
  }

/** Invitations as others see them now: a group or an origin may not be allowed any more. */
const fromRows = async (
  { groups, allowedOrigins }: Services,
  rows: readonly store.InvitationRow[],
  sql?: Sql,
): Promise<Invitation[]> => {
  const promisable = await groups.findPromisable(sql)
  return rows.map((row) => ({
    email: row.email,
    groups: promisable(row.groups),
    madeBy: row.made_by,
    invitedBy: displayName(row.invited_by, longestInviter),
    returnTo: safeReturnTo(row.return_to ?? undefined, allowedOrigins) ?? null,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }))
}

const foundIn = async (
  services: Services,
  rows: Awaited<ReturnType<typeof store.selectByToken>>,
  sql?: Sql,
): Promise<FoundInvitation | undefined> => {
  const [row] = rows
  const [invitation] = await fromRows(services, rows, sql)
  return (
    row &&
    invitation && { ...invitation, key: row.email_key, provesAddress: row.proves_address, isPrinted: row.printed }
  )
}

const byAge = (one: store.InvitationRow, other: store.InvitationRow) =>
  one.created_at.getTime() - other.created_at.getTime() || (one.made_by < other.made_by ? -1 : 1)

/** Gives the groups of each invitation to a new account. One whose groups are too many for it stays open, and can be accepted later. */
const useUp = async (
  { groups }: Services,
  sql: Transaction,
  email: Email,
  userId: string,
  open: readonly store.InvitationRow[],
) => {
  let joined: readonly string[] = []
  for (const { groups: names, created_at, made_by } of [...open].sort(byAge)) {
    const user = { id: userId, email: email.email, groups: joined }
    const joinedNow = await groups.giveTo(sql, user, { names, promisedAt: created_at, by: made_by })
    if (!joinedNow) continue
    joined = joinedNow
    await store.removeOfMaker(sql, email.key, made_by)
  }
  await store.removeUseless(sql, email.key)
}
/** Decides who may have an account, by the gate of registration or by an invitation. */
const admissionBy = (services: Services) => {
  const { clock, gate } = services
  const lockAll = (sql: Sql, { key }: Email, openAt = clock.now()) => store.lockOfAddress(sql, key, openAt, null)

  return {
    /**
     * Creates an account for a proven address if the gate or an invitation of that address allows it. The account uses the invitation up,
     * even if the gate is open, and gets its groups. `openAt`: a time at which the invitation must have been open. `tokenHash`: the hash of
     * the link that the invitation must have. Null for a user who came without a link: then every invitation of the address counts.
     */
    admit: async <Created extends { id: string } | Refused | undefined>(
      sql: Transaction,
      { email, openAt = clock.now(), tokenHash = null }: { email: Email; openAt?: Date; tokenHash?: Uint8Array | null },
      create: () => Promise<Created>,
    ): Promise<{ created: Created; usedInvitation: boolean } | Refused<GateRefusal>> => {
      const open = await store.lockOfAddress(sql, email.key, openAt, tokenHash)
      const refusal = open.length > 0 ? undefined : gate.refusalFor(email)
      if (refusal) return refusal
      const created = await create()
      if (open.length === 0 || !created || !('id' in created)) return { created, usedInvitation: false }
      await useUp(services, sql, email, created.id, open)
      return { created, usedInvitation: true }
    },

    /** The refusal if a new account cannot have this address even after a proof. Undefined if the gate or an invitation allows it. */
    refusalForNew: async (sql: Sql, email: Email) =>
      (await lockAll(sql, email)).length > 0 ? undefined : gate.refusalFor(email),

    /** The refusal if an existing account cannot get this address. Undefined if the gate or an invitation of the address allows it. */
    refusalForAddress: async (sql: Sql, email: Email, openAt: Date) =>
      (await lockAll(sql, email, openAt)).length > 0 ? undefined : gate.refusalForAddress(email),

    /** Deletes the invitations of an address that belongs to an account from now on, except those with groups that it can accept. */
    forgetUseless: async (sql: Sql, email: Email) => {
      await store.removeUseless(sql, email.key)
    },
  }
}

/** The refusal of what an inviter wishes, before anything is stored. */
const faultIn = ({ invitedBy, returnTo }: InvitationWishes, allowedOrigins: readonly string[]) => {
  if (invitedBy !== undefined && !isInviterName(invitedBy))
    return refuse('bad_request', { message: `invitedBy must be ${inviterRule}` })
  if (returnTo !== undefined && safeReturnTo(returnTo, allowedOrigins) === undefined)
    return refuse('bad_request', {
      message: 'returnTo must be a path of this site, or the address of a page of an origin in ALLOWED_ORIGINS',
    })
  return undefined
}

type Begun = { account: User | undefined; earlier: Awaited<ReturnType<typeof store.lockOfMaker>>[number] | undefined }

const promisedBy = async ({ groups }: Services, sql: Transaction, earlier: Begun['earlier']) =>
  earlier ? groups.stillPromised(sql, earlier.groups, earlier.created_at) : []

/** The name that the invited person sees. That of an administrator is not stored here: it goes with the account. */
const shownName = async ({ users }: Services, sql: Transaction, { actor }: Client, givenName: string | null) =>
  displayName(givenName ?? (actor?.userId && (await users.findById(sql, actor.userId))?.name), longestInviter)

/** Stores an invitation and mails its link, unless it `isPrinted`. */
const place = async (
  services: Services,
  sql: Transaction,
  email: Email,
  client: Client,
  wishes: InvitationWishes,
  { account, earlier }: Begun,
  isPrinted = false,
) => {
  const { users, mails, clock, groups, events, allowedOrigins } = services
  const fault = faultIn(wishes, allowedOrigins)
  if (fault) return fault
  const groupNames = wishes.groups ?? (await promisedBy(services, sql, earlier))
  const refusal = await groups.refusalOfPromise(sql, email.email, groupNames)
  if (refusal) return refusal
  if (account && groupNames.length === 0) return refuse('has_account')
  if (!account && (await users.reservedFor(sql, email.email)) !== undefined) return refuse('email_reserved')

  const now = clock.now()
  const [mailedToken, operatorToken] = [randomToken(), randomToken()]
  const givenName = wishes.invitedBy ?? earlier?.given_name ?? null
  const invitation = {
    email: email.email,
    groups: groupNames,
    madeBy: makerOf(client),
    returnTo: safeReturnTo(wishes.returnTo ?? earlier?.return_to ?? undefined, allowedOrigins) ?? null,
    expiresAt: later(now, isPrinted ? printedLifetime : lifetime),
  }
  await store.replace(sql, {
    ...invitation,
    emailKey: email.key,
    administratorId: client.actor?.userId ?? null,
    invitedBy: givenName,
    mailedHash: isPrinted ? null : fingerprint(mailedToken),
    operatorHash: fingerprint(operatorToken),
    now,
  })
  const invitedBy = await shownName(services, sql, client, givenName)
  const mail = letterFor({ ...invitation, account, token: mailedToken, invitedBy, client })
  if (!isPrinted && isRefused(await mails.queue(sql, mail)))
    return refuse('too_many_mails', { retryAfter: await mails.secondsUntilNext(sql, mail) })
  const details = [
    ...(isPrinted ? ['printed'] : []),
    ...(groupNames.length > 0 ? [`groups ${groupNames.join(',')}`] : []),
  ]
  const reason = details.length > 0 ? { reason: details.join(', ') } : {}
  await events.recordInside(sql, { kind: 'user_invited', ...reason }, { ...client, typedName: email.email })
  return { ...invitation, token: operatorToken, invitedBy, createdAt: now }
}

/**
 * Mails a link, or makes one that an operator hands over. The `token` of the result is for the link of the operator. Unless refused, an
 * earlier invitation of the same maker for the address becomes void.
 */
const invitingBy = (services: Services) => {
  const { database, users, mails, clock, events } = services

  /** Finds what must be held: the user before the invitation, as a deletion does it, and the groups later. */
  const begin = async (sql: Transaction, email: Email, client: Client): Promise<Begun> => {
    await events.checkActor(sql, client)
    const account = await users.holdByEmail(sql, email.email)
    const [earlier] = await store.lockOfMaker(sql, email.key, makerOf(client), clock.now())
    return { account, earlier }
  }

  return {
    invite: (email: Email, client: Client, wishes: InvitationWishes = {}) =>
      commitUnlessRefused(database, async (sql) => {
        if (mails.isOff) return refuse('mail_is_off')
        return place(services, sql, email, client, wishes, await begin(sql, email, client))
      }),

    /** An invitation whose only link an operator hands over. It is mailed to nobody, so it proves no address. */
    print: (email: Email, client: Client, wishes: InvitationWishes = {}) =>
      commitUnlessRefused(database, async (sql) => {
        const begun = await begin(sql, email, client)
        // Only an account whose address was proven can join groups by a link that proves nothing.
        if (begun.account && !begun.account.emailProven) return refuse('address_not_proven')
        return place(services, sql, email, client, wishes, begun, true)
      }),

    /** Invites for a maker that may neither give groups nor take them away. */
    inviteWithoutGroups: (email: Email, client: Client, wishes: Omit<InvitationWishes, 'groups'> = {}) =>
      commitUnlessRefused(database, async (sql) => {
        if (mails.isOff) return refuse('mail_is_off')
        const begun = await begin(sql, email, client)
        return begun.earlier && begun.earlier.groups.length > 0
          ? refuse('invitation_has_groups')
          : place(services, sql, email, client, { ...wishes, groups: [] }, begun)
      }),
  }
}

type Addressed = Pick<Invitation, 'groups' | 'invitedBy'> & {
  email: string
  account: User | undefined
  token: string
  client: Client
}

/** The mail with the link. The owner of an account is asked to join, in the language of the account. */
const letterFor = ({ email, account, token, invitedBy, groups, client }: Addressed): MailRequest => {
  const values = { token, validFor: lifetime, invitedBy: invitedBy ?? undefined }
  return account
    ? {
        to: account.email,
        userId: account.id,
        template: 'group-invitation',
        values: { ...values, groups: groups.join(', ') },
        client,
      }
    : { to: email, userId: null, template: 'invitation', values, client }
}

export type Invitations = ReturnType<typeof createInvitations>
/** `provesAddress`: the link is the one in the mail to this address. `isPrinted`: it was printed, and no mail was sent. */
export type FoundInvitation = Invitation & { key: string; provesAddress: boolean; isPrinted: boolean }

/** Whether the account has the invited address: a proof of it is needed, which the link of the mail is, too. */
export const isForAccount = (
  { key, email, provesAddress }: FoundInvitation,
  user: Pick<User, 'email' | 'emailProven'>,
) => emailKey(user.email) === key && (user.emailProven || (provesAddress && user.email === email))

/**
 * An invitation opens the gate of registration for one address, once, or lets the account of that address join groups. The link in its mail
 * proves the address. The link of the operator, who may hand it to anyone, does not: the registration mails a link, unless the invitation
 * was printed. Then the account has an address that opens nothing.
 */
export const createInvitations = (services: Services) => {
  const { database, clock, events, groups } = services

  return {
    ...invitingBy(services),
    ...admissionBy(services),

    /** The invitation of a link, while it can be used. Changes nothing. */
    find: async (token: string) =>
      foundIn(services, await store.selectByToken(database, fingerprint(token), clock.now())),

    /** Uses up an invitation with groups, for the account of its address. The caller holds the user's row and makes the user join. */
    takeFor: async (sql: Transaction, user: User, token: string) => {
      const found = await foundIn(services, await store.lockByToken(sql, fingerprint(token), clock.now()), sql)
      if (!found || !isForAccount(found, user)) return refuse('invalid_invitation')
      const promised = await groups.stillPromised(sql, found.groups, found.createdAt)
      if (promised.length === 0) return refuse('invalid_invitation')
      await store.removeOfMaker(sql, found.key, found.madeBy)
      return { groups: promised, madeBy: found.madeBy }
    },

    /** The open invitations of every maker, or of one. */
    listOpen: async (madeBy?: string) =>
      fromRows(services, await store.selectOpen(database, clock.now(), madeBy ?? null)),

    /** The invitations of these addresses, even if an address has an account meanwhile. */
    findByEmails: async (emails: readonly string[]) =>
      fromRows(services, await store.selectOfEmails(database, emails.map(emailKey), clock.now())),

    /**
     * Withdraws the invitations of an address, or the one of a maker. A program withdraws none but its own. Returns how many were open.
     */
    revoke: (email: Email, client: Client, madeBy?: string) =>
      database.transaction(async (sql) => {
        await events.checkActor(sql, client)
        const maker = client.actor?.serviceKey === undefined ? madeBy : makerOf(client)
        const removedRows =
          maker === undefined
            ? await store.removeOfAddress(sql, email.key)
            : await store.removeOfMaker(sql, email.key, maker)
        const open = removedRows.filter(({ expires_at }) => expires_at > clock.now())
        const others = open.map(({ made_by }) => made_by).filter((name) => name !== makerOf(client))
        const reason = others.length > 0 ? { reason: others.sort().join(', ') } : {}
        if (open.length > 0)
          await events.recordInside(
            sql,
            { kind: 'invitation_revoked', ...reason },
            { ...client, typedName: email.email },
          )
        return open.length
      }),

    purge: async (sql: Sql, limit: number) =>
      (await store.purge(sql, later(clock.now(), -retentionAfterExpiry), limit)).length,
  }
}

export type AddressRefusal = 'email_domain_not_allowed'
export type GateRefusal = 'registration_closed' | 'invitation_required' | AddressRefusal

export type RegistrationGate = ReturnType<typeof createRegistrationGate>

/**
 * Decides who may have an account here, by the present values of REGISTRATION and REGISTRATION_DOMAINS. It looks at the text of an address and at nothing
 * else, so a refusal says nothing about accounts. Users who have an account sign in whatever the gate says.
 */
export const createRegistrationGate = (
  now: () => { registration: RegistrationMode; registrationDomains: readonly string[] },
) => {
  /** The refusal if no account may have this address, neither a new account nor one that changes its address. */
  const refusalForAddress = ({ key }: Email): Refused<AddressRefusal> | undefined => {
    const domain = key.slice(key.lastIndexOf('@') + 1)
    const { registrationDomains: domains } = now()
    return domains.length === 0 || domains.includes(domain) ? undefined : refuse('email_domain_not_allowed')
  }

  /** The refusal if every new account needs an invitation, whatever its address. */
  const refusalForAll = (): Refused<GateRefusal> | undefined => {
    const { registration: mode } = now()
    if (mode === 'closed') return refuse('registration_closed')
    return mode === 'invited' ? refuse('invitation_required') : undefined
  }

  return {
    refusalForAddress,
    refusalForAll,
    /** The refusal if a new account with this address needs an invitation. */
    refusalFor: (email: Email): Refused<GateRefusal> | undefined => refusalForAll() ?? refusalForAddress(email),
  }
}
