import { describeDevice } from '../../contract/device-names.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Factors } from '../../domain/factors/factors.js'
import type { TrustedDevices } from '../../domain/factors/trusted-devices.js'
import type { Mails } from '../../domain/mails/mails.js'
import type { Passkeys } from '../../domain/passkeys/passkeys.js'
import type { Client } from '../../domain/sessions/client.js'
import { createLockedAccount } from '../../domain/sessions/locked-account.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import type { Challenges } from '../../domain/sign-in/challenges.js'
import type { Enrolments } from '../../domain/sign-in/enrolments.js'
import type { SignIns, Visit } from '../../domain/sign-in/sign-ins.js'
import { type Undos, undoLifetime } from '../../domain/undos/undos.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Webhooks } from '../../domain/webhooks/webhooks.js'
import type { Database, Transaction } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  sessions: Sessions
  factors: Factors
  passkeys: Pick<Passkeys, 'list' | 'countUsable'>
  trustedDevices: TrustedDevices
  challenges: Pick<Challenges, 'removeAll'>
  mails: Mails
  undos: Undos
  webhooks: Webhooks
  events: Events
  signIns: Pick<SignIns, 'byEnrolment'>
  enrolments: Pick<Enrolments, 'findOpen'>
  /** Whether every account needs a second factor. */
  required: boolean
}
type Request = { caller: SessionCaller; client: Client }
type FactorMail = 'totp-added' | 'totp-removed' | 'recovery-codes-renewed'

/** The factors of the caller's account. A route lets only fresh sessions change them. */
export const createOwnFactors = (deps: Dependencies) => {
  const { users, sessions, factors, passkeys, trustedDevices, challenges, mails, undos, webhooks, events } = deps
  const { signIns, enrolments, required } = deps

  const change = createLockedAccount(deps)

  const tell = async (sql: Transaction, user: User, template: FactorMail, client: Client) => {
    const { id: userId, email: to, username } = user
    if (template !== 'totp-added') return mails.queue(sql, { to, userId, template, values: { username }, client })
    const undoToken = await undos.add(sql, user, { kind: 'totp' })
    const values = { username, undoToken, undoFor: undoLifetime }
    return mails.queue(sql, { to, userId, template, values, client })
  }

  const afterTotpChange = async (sql: Transaction, user: User, template: FactorMail, client: Client, kept?: string) => {
    await sessions.endAll(user.id, { ...(kept && { except: kept }), sql })
    await webhooks.queue(sql, 'factor.changed', { user: { id: user.id }, factor: 'totp' })
    await tell(sql, user, template, client)
  }

  return {
    list: async ({ userId }: SessionCaller) => {
      const user = await users.findById(userId)
      if (!user) return refuse('not_authenticated')
      const { totp, recoveryCodesLeft } = await factors.describe(userId)
      const devices = await trustedDevices.list(userId)
      return {
        password: user.passwordHash !== undefined,
        totp: totp ? { createdAt: totp.toISOString() } : null,
        recoveryCodes: { left: recoveryCodesLeft },
        passkeys: await passkeys.list(userId),
        trustedDevices: devices.map((device) => ({
          id: device.id,
          ip: device.ip,
          ...describeDevice(device.user_agent),
          createdAt: device.created_at.toISOString(),
          expiresAt: device.expires_at.toISOString(),
        })),
      }
    },

    begin: async (caller: SessionCaller) => {
      const user = await users.findById(caller.userId)
      if (!user || !(await sessions.isLive(caller))) return refuse('not_authenticated')
      const { userId, sessionId } = caller
      return factors.begin({ userId, sessionId, account: user.email })
    },

    /** For a sign-in that cannot go on without a factor. */
    beginAtEnrolment: async (token: string) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const { challenge, user } = open
      return factors.begin({ userId: user.id, sessionId: challenge.id, account: user.email })
    },

    /** Switches it on and finishes the sign-in. */
    confirmAtEnrolment: async (code: string, token: string, visit: Visit) => {
      const finished = await signIns.byEnrolment({ token, second: 'otp' }, visit, async (sql, user, sessionId) => {
        const added = await factors.confirm(sql, { userId: user.id, sessionId, code })
        if (!isRefused(added)) await afterTotpChange(sql, user, 'totp-added', visit.client)
        return added
      })
      if (!('issued' in finished)) return finished
      return { issued: finished.issued, recoveryCodes: finished.added.recoveryCodes }
    },

    confirm: async (code: string, { caller, client }: Request) => {
      const { userId, sessionId } = caller
      return change(caller, async (sql, user) => {
        const added = await factors.confirm(sql, { userId, sessionId, code })
        if (isRefused(added)) return added
        await afterTotpChange(sql, user, 'totp-added', client, sessionId)
        await events.recordInside(sql, { kind: 'totp_added', userId, sessionId }, client)
        return added
      })
    },

    remove: async ({ caller, client }: Request) => {
      const { userId, sessionId } = caller
      return change(caller, async (sql, user) => {
        if (!(await factors.hasTotp(userId, sql))) return refuse('totp_is_off')
        // The user's row is locked: of two requests at once the second one sees what the first has left.
        if (required && (await passkeys.countUsable(userId, sql)) === 0) return refuse('last_factor')
        await factors.remove(sql, userId)
        await afterTotpChange(sql, user, 'totp-removed', client, sessionId)
        await events.recordInside(sql, { kind: 'totp_removed', userId, sessionId }, client)
        // What the app has proven in this session counts no more, and its earlier tokens say that it does.
        return sessions.rotateWithoutGrace(sql, caller, user, client, { withdrawn: ['otp', 'rec'] })
      })
    },

    renewRecoveryCodes: async ({ caller, client }: Request) => {
      const { userId, sessionId } = caller
      return change(caller, async (sql, user) => {
        const recoveryCodes = await factors.renewRecoveryCodes(sql, userId)
        if (!recoveryCodes) return refuse('totp_is_off')
        await challenges.removeAll(sql, userId)
        await webhooks.queue(sql, 'factor.changed', { user: { id: userId }, factor: 'recovery_codes' })
        await tell(sql, user, 'recovery-codes-renewed', client)
        await events.recordInside(sql, { kind: 'recovery_codes_renewed', userId, sessionId }, client)
        return { recoveryCodes }
      })
    },

    removeTrustedDevice: async (id: string, { caller, client }: Request) => {
      const { userId, sessionId } = caller
      return change(caller, async (sql) => {
        if (!(await trustedDevices.remove(sql, id, userId))) return refuse('not_found')
        await events.recordInside(sql, { kind: 'trusted_device_removed', userId, sessionId }, client)
        return undefined
      })
    },
  }
}
