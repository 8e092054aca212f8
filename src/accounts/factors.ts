import type { AccountChanges } from '../account-changes/account-changes.js'
import { describeDevice } from '../contract/device-names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'

import type { TrustedDevice, TrustedDevices } from '../factors/trusted-devices.js'
import type { Transaction } from '../platform/database/database.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'

import type { Enrolments } from '../sign-in/enrolments.js'
import type { SignIns, Visit } from '../sign-in/sign-ins.js'
import type { User, Users } from '../users/users.js'
import { passkeyBody } from './user-bodies.js'

type Dependencies = {
  accountChanges: AccountChanges
  users: Pick<Users, 'findById'>
  sessionLookups: Pick<SessionLookups, 'isLive'>
  factors: Factors
  passkeys: Pick<Passkeys, 'list' | 'countUsable'>
  trustedDevices: TrustedDevices
  /** Whether every account needs a second factor. */
  secondFactorRequired: boolean
}

/** Only the session or the sign-in that began to add the app may confirm it. */
const addTotp = async (
  factors: Pick<Factors, 'confirm'>,
  sql: Transaction,
  { id: userId }: User,
  { sessionId, code }: { sessionId: string; code: string },
) => {
  const added = await factors.confirm(sql, { userId, sessionId, code })
  return isRefused(added) ? added : { result: added, changes: { totp_added: {} } }
}

type EnrolmentDependencies = {
  factors: Pick<Factors, 'begin' | 'confirm'>
  signIns: Pick<SignIns, 'byEnrolment'>
  enrolments: Pick<Enrolments, 'findOpen'>
}

/** TOTP as the first factor of an account, at a sign-in that cannot go on without one. */
export const createTotpEnrolment = ({ factors, signIns, enrolments }: EnrolmentDependencies) => ({
  begin: async (token: string) => {
    const open = await enrolments.findOpen(token)
    if (isRefused(open)) return open
    const { challenge, user } = open
    return factors.begin({ userId: user.id, sessionId: challenge.id, account: user.email })
  },

  /** Switches two-step sign-in on and finishes the sign-in. */
  confirm: async (code: string, token: string, visit: Visit) => {
    const finished = await signIns.byEnrolment({ token, second: 'otp' }, visit, (sql, user, challengeId) =>
      addTotp(factors, sql, user, { sessionId: challengeId, code }),
    )
    if (!('outcome' in finished)) return finished
    return { outcome: finished.outcome, recoveryCodes: finished.added.recoveryCodes }
  },
})

const deviceBody = ({ id, ip, userAgent, createdAt, expiresAt }: TrustedDevice) => ({
  id,
  ip,
  ...describeDevice(userAgent),
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

/** The factors of the caller's account. The routes let only fresh sessions change them. */
export const createOwnFactors = (deps: Dependencies) => {
  const { accountChanges, users, sessionLookups, factors, passkeys, trustedDevices, secondFactorRequired } = deps

  return {
    list: async ({ userId }: SessionCaller) => {
      const user = await users.findById(userId)
      if (!user) return refuse('not_authenticated')
      const { totpCreatedAt: totp, recoveryCodesLeft } = await factors.describe(userId)
      const devices = await trustedDevices.list(userId)
      return {
        password: user.passwordHash !== undefined,
        totp: totp ? { createdAt: totp.toISOString() } : null,
        recoveryCodes: { left: recoveryCodesLeft },
        passkeys: (await passkeys.list(userId)).map(passkeyBody),
        trustedDevices: devices.map(deviceBody),
      }
    },

    begin: async (caller: SessionCaller) => {
      const user = await users.findById(caller.userId)
      if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
      const { userId, sessionId } = caller
      return factors.begin({ userId, sessionId, account: user.email })
    },

    confirm: async (context: CallerContext, code: string) => {
      const added = await accountChanges.byCaller(context, 'totp_added', (sql, user) =>
        addTotp(factors, sql, user, { sessionId: context.caller.sessionId, code }),
      )
      return isRefused(added) ? added : added.result
    },

    remove: (context: CallerContext) =>
      accountChanges.byCaller(context, 'totp_removed', async (sql, { id: userId }) => {
        if (!(await factors.hasTotp(sql, userId))) return refuse('totp_is_off')
        // The user's row is locked: of two requests at once the second one sees what the first has left.
        if (secondFactorRequired && (await passkeys.countUsable(sql, userId)) === 0) return refuse('last_factor')
        await factors.remove(sql, userId)
        return { changes: { totp_removed: {} } }
      }),

    renewRecoveryCodes: async (context: CallerContext) => {
      const renewed = await accountChanges.byCaller(context, 'recovery_codes_renewed', async (sql, user) => {
        const result = await factors.renewRecoveryCodes(sql, user.id)
        return result ? { result, changes: { recovery_codes_renewed: {} } } : refuse('totp_is_off')
      })
      return isRefused(renewed) ? renewed : { recoveryCodes: renewed.result }
    },

    removeTrustedDevice: (context: CallerContext, id: string) =>
      accountChanges.byCaller(context, 'trusted_device_removed', async (sql, user) =>
        (await trustedDevices.remove(sql, id, user.id))
          ? { changes: { trusted_device_removed: {} } }
          : refuse('not_found'),
      ),
  }
}
