import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { days } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Groups } from '../groups/groups.js'
import type { Mails } from '../mails/mails.js'
import type { GateRefusal, RegistrationGate } from '../registrations/registration-gate.js'
import { registrationLifetime } from '../registrations/registrations.js'
import type { Client } from '../sessions/client.js'
import { type Email, emailKey } from '../users/email.js'
import type { Users } from '../users/users.js'
import * as store from './invitations.store.js'

const lifetime = 7 * days
/** A registration that began before the invitation expired may be finished later. */
const retentionAfterExpiry = registrationLifetime

export type Invitation = { email: string; groups: readonly string[]; createdAt: Date; expiresAt: Date }

const fromRow = ({ email, groups, created_at, expires_at }: store.InvitationRow): Invitation => ({
  email,
  groups,
  createdAt: created_at,
  expiresAt: expires_at,
})

type Dependencies = {
  database: Database
  users: Pick<Users, 'findByEmail' | 'reservedFor'>
  mails: Pick<Mails, 'queue' | 'secondsUntilNext'>
  clock: Clock
  gate: RegistrationGate
  groups: Pick<Groups, 'giveTo' | 'refusalOfPromise' | 'stillPromised'>
  events: Pick<Events, 'checkActor' | 'recordInside'>
}

/** Decides who may have an account, by the gate of registration or by an invitation. */
const createAdmission = ({ clock, gate, groups }: Dependencies) => ({
  /**
   * Creates an account for a proven address if the gate or an invitation of that address allows it. The account uses the invitation up, even
   * if the gate is open, and gets the groups of the invitation. `openAt`: a time at which the invitation must have been open. `tokenHash`:
   * the hash of the link that the invitation must have. Null if any link will do.
   */
  admit: async <Created extends { id: string } | Refused | undefined>(
    sql: Transaction,
    { email, openAt = clock.now(), tokenHash = null }: { email: Email; openAt?: Date; tokenHash?: Uint8Array | null },
    create: () => Promise<Created>,
  ): Promise<{ created: Created; usedInvitation: boolean } | Refused<GateRefusal>> => {
    const [invitation] = await store.lockByEmail(sql, email.key, openAt, tokenHash)
    const refusal = invitation ? undefined : gate.refusalFor(email)
    if (refusal) return refusal
    const created = await create()
    if (!invitation || !created || !('id' in created)) return { created, usedInvitation: false }
    await store.remove(sql, email.key)
    await groups.giveTo(sql, created.id, invitation.groups, invitation.created_at)
    return { created, usedInvitation: true }
  },

  /** The refusal if a new account cannot have this address even after a proof. Undefined if the gate or an invitation allows it. */
  refusalForNew: async (sql: Sql, email: Email) => {
    const [invitation] = await store.lockByEmail(sql, email.key, clock.now(), null)
    return invitation ? undefined : gate.refusalFor(email)
  },

  /** The refusal if an existing account cannot get this address. Undefined if the gate or an invitation of the address allows it. */
  refusalForAddress: async (sql: Sql, email: Email, openAt: Date) => {
    const [invitation] = await store.lockByEmail(sql, email.key, openAt, null)
    return invitation ? undefined : gate.refusalForAddress(email)
  },
  /** Deletes the invitation of an address that belongs to an account from now on. */
  useUp: async (sql: Sql, email: Email) => {
    await store.remove(sql, email.key)
  },
})

/**
 * Mails a link. The `token` of the result is for the link of the operator. Unless refused, an earlier invitation of the address becomes
 * void.
 */
const createInviting = ({ database, users, mails, clock, groups, events }: Dependencies) => {
  const replace = async (sql: Transaction, email: Email, client: Client, groupNames: readonly string[]) => {
    const refusal = await groups.refusalOfPromise(sql, email.email, groupNames)
    if (refusal) return refusal
    if (await users.findByEmail(sql, email.email)) return refuse('has_account')
    if ((await users.reservedFor(sql, email.email)) !== undefined) return refuse('email_reserved')
    const now = clock.now()
    const mailedToken = randomToken()
    const operatorToken = randomToken()
    const expiresAt = later(now, lifetime)
    const hashes = { mailedHash: fingerprint(mailedToken), operatorHash: fingerprint(operatorToken) }
    await store.replace(sql, { email: email.email, emailKey: email.key, groups: groupNames, ...hashes, now, expiresAt })
    const values = { token: mailedToken, validFor: lifetime }
    const mail = { to: email.email, userId: null, template: 'invitation', values, client } as const
    if (isRefused(await mails.queue(sql, mail)))
      return refuse('too_many_mails', { retryAfter: await mails.secondsUntilNext(sql, mail) })
    const reason = groupNames.length > 0 ? { reason: `groups ${groupNames.join(',')}` } : {}
    await events.recordInside(sql, { kind: 'user_invited', ...reason }, { ...client, typedName: email.email })
    return { email: email.email, token: operatorToken, groups: groupNames, createdAt: now, expiresAt }
  }

  const lockOpen = async (sql: Transaction, { key }: Email) => (await store.lockByEmail(sql, key, clock.now(), null))[0]

  return {
    /** Without `groupNames`, the address keeps the groups of its open invitation. */
    invite: (email: Email, client: Client, groupNames?: readonly string[]) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, client)
        const openInvitation = groupNames ? undefined : await lockOpen(sql, email)
        const keptGroups = openInvitation
          ? await groups.stillPromised(sql, openInvitation.groups, openInvitation.created_at)
          : []
        return replace(sql, email, client, groupNames ?? keptGroups)
      }),

    /** Invites for a caller that may neither give groups nor take them away. */
    inviteWithoutGroups: (email: Email, client: Client) =>
      commitUnlessRefused(database, async (sql) => {
        await events.checkActor(sql, client)
        const openInvitation = await lockOpen(sql, email)
        return openInvitation && openInvitation.groups.length > 0
          ? refuse('invitation_has_groups')
          : replace(sql, email, client, [])
      }),
  }
}

export type Invitations = ReturnType<typeof createInvitations>

/**
 * An invitation opens the gate of registration for one address, once. The link in its mail proves the address. The link of the operator,
 * who may hand it to anyone, does not.
 */
export const createInvitations = (deps: Dependencies) => {
  const { database, clock, events } = deps

  return {
    ...createInviting(deps),

    /** The invitation of a link, while it can be used. Changes nothing. */
    find: async (token: string): Promise<(Invitation & { key: string; provesAddress: boolean }) | undefined> => {
      const [row] = await store.selectByToken(database, fingerprint(token), clock.now())
      return row && { ...fromRow(row), key: row.email_key, provesAddress: row.proves_address }
    },

    listOpen: async () => (await store.selectOpen(database, clock.now())).map(fromRow),

    /** The invitations of these addresses, even if an address has an account meanwhile. */
    findByEmails: async (emails: readonly string[]) =>
      (await store.selectOfEmails(database, emails.map(emailKey), clock.now())).map(fromRow),

    /** False if there was no open invitation. */
    revoke: (email: Email, client: Client) =>
      database.transaction(async (sql) => {
        await events.checkActor(sql, client)
        const [removedRow] = await store.remove(sql, email.key)
        const wasOpen = removedRow !== undefined && removedRow.expires_at > clock.now()
        if (wasOpen)
          await events.recordInside(sql, { kind: 'invitation_revoked' }, { ...client, typedName: email.email })
        return wasOpen
      }),

    ...createAdmission(deps),

    purge: async (sql: Sql, limit: number) =>
      (await store.purge(sql, later(clock.now(), -retentionAfterExpiry), limit)).length,
  }
}
