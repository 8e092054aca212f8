import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { renderSVG } from 'uqr'
import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { describeDevice } from '../contract/device-names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Factors as FactorsFactors, NoContent, RecoveryCodes, TotpBegun, TotpConfirmed } from '../contract/schemas.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import type { AppReplacements } from '../factors/totp.js'
import type { TrustedDevice, TrustedDevices } from '../factors/trusted-devices.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { uuidPattern } from '../lib/uuid.js'
import type { Transaction } from '../platform/database/database.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { CallerContext, Visit } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import { sendContinuedSignIn } from '../sign-in/answers.js'
import { type Enrolling, enrollerSecurity } from '../sign-in/enrol-guard.js'
import type { Enrolments } from '../sign-in/enrolments.js'
import type { SignIns } from '../sign-in/sign-ins.js'
import type { User, Users } from '../users/users.js'
import { totpBefore } from './take-back.js'
import { passkeyBody } from './user-bodies.js'

type OwnFactorsDependencies = {
  accountChanges: AccountChanges
  users: Users
  sessionLookups: SessionLookups
  factors: Factors
  passkeys: Passkeys
  trustedDevices: TrustedDevices
  /** Whether every account needs a second factor. */
  secondFactorRequired: boolean
}

/** Only the session or the sign-in that began to add the app may confirm it. */
const addTotp = async (
  factors: Factors,
  sql: Transaction,
  { id: userId }: User,
  { sessionId, code }: { sessionId: string; code: string },
) => {
  const added = await factors.confirm(sql, { userId, sessionId, code })
  return isRefused(added) ? added : { result: added, changes: { totp_added: {} } }
}

type EnrolmentDependencies = {
  factors: Factors
  signIns: SignIns
  enrolments: Enrolments
}

/** TOTP as the first factor of an account, at a sign-in that cannot go on without one. */
export const createTotpEnrolment = ({ factors, signIns, enrolments }: EnrolmentDependencies) => ({
  begin: async (token: string) => {
    const open = await enrolments.findOpen(token)
    if (isRefused(open)) return open
    const { pending, user } = open
    return factors.begin({ userId: user.id, sessionId: pending.id, account: user.email })
  },

  /** Switches two-step sign-in on and finishes the sign-in. */
  confirm: async (code: string, token: string, visit: Visit) => {
    const finished = await signIns.byEnrolment({ token, second: 'otp' }, visit, (sql, user, pendingId) =>
      addTotp(factors, sql, user, { sessionId: pendingId, code }),
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
export const createOwnFactors = (deps: OwnFactorsDependencies) => {
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

const freshRefusals = [...guardRefusals, 'fresh_sign_in_required'] as const

const listRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const enrolRefusals = [
  ...freshRefusals,
  'challenge_over',
  'mailed_code_required',
  'link_required',
  'current_password_required',
  'totp_is_on',
] as const
const factorsBeginRefusals = routeRefusals(...enrolRefusals)
const factorsConfirmRefusals = routeRefusals(...enrolRefusals, 'bad_request', 'wrong_second_factor', 'no_totp_begun')
const removeRefusals = routeRefusals(...freshRefusals, 'totp_is_off', 'last_factor')
const changeRefusals = routeRefusals(...freshRefusals, 'totp_is_off')
const deviceRefusals = routeRefusals(...freshRefusals, 'bad_request', 'not_found')

const clearsChallenge = { 401: 'After `next: "enrolment"`: clears challenge, if the sign-in is over' }
const tags = ['factors']
const factorsSchemas = {
  list: {
    tags,
    summary: "What the caller's account can sign in with",
    response: { 200: FactorsFactors, ...listRefusals.responses },
  },
  begin: {
    tags,
    security: enrollerSecurity,
    summary: 'Begin to add an authenticator app; confirm it with a code within 10 minutes',
    response: { 200: TotpBegun, ...withCookies(factorsBeginRefusals.responses, clearsChallenge) },
  },
  confirm: {
    tags,
    security: enrollerSecurity,
    summary:
      'Switch two-step sign-in on; ends the other sessions and shows the recovery codes once. After `next: "enrolment"` it also finishes the sign-in',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }),
    response: {
      200: withHeaders(TotpConfirmed, { 'Set-Cookie': 'After `next: "enrolment"`: access_token and refresh_token' }),
      ...withCookies(factorsConfirmRefusals.responses, clearsChallenge),
    },
  },
  remove: {
    tags,
    summary: 'Switch two-step sign-in off; ends the other sessions and gives this one new tokens',
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
      ...removeRefusals.responses,
    },
  },
  renew: {
    tags,
    summary: 'Make new recovery codes; the old ones do not work any more',
    response: { 200: RecoveryCodes, ...changeRefusals.responses },
  },
  removeDevice: {
    tags,
    summary: 'Ask for a code again in a browser that was trusted',
    params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
    response: { 204: NoContent, ...deviceRefusals.responses },
  },
}

type FactorsRouteDependencies = {
  guards: Guards
  ownFactors: ReturnType<typeof createOwnFactors>
  totpEnrolment: ReturnType<typeof createTotpEnrolment>
  callers: Callers
  enrolling: Enrolling
  cookies: Cookies
  signInCookies: SignInCookies
}

export const factorsRoutes = (server: Server, deps: FactorsRouteDependencies) => {
  const { guards, ownFactors, totpEnrolment, callers, enrolling, cookies, signInCookies } = deps

  server.get('/api/auth/factors', { schema: factorsSchemas.list, onRequest: guards.read }, async (request, reply) => {
    return listRefusals.answer(reply, await ownFactors.list(callers.of(request)))
  })

  server.post('/api/auth/totp', { schema: factorsSchemas.begin, onRequest: guards.enrol }, async (request, reply) => {
    const enroller = enrolling.of(request)
    const totp = await ('caller' in enroller
      ? ownFactors.begin(enroller.caller)
      : totpEnrolment.begin(enroller.challenge))
    if (isRefused(totp)) return factorsBeginRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, totp), totp)
    return reply.send({ ...totp, qr: renderSVG(totp.uri, { border: 4 }) })
  })

  const confirmAtEnrolment = async (code: string, token: string, request: FastifyRequest, reply: FastifyReply) => {
    const finished = await totpEnrolment.confirm(code, token, signInCookies.visitOf(request))
    if (isRefused(finished))
      return factorsConfirmRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, finished), finished)
    const { outcome, recoveryCodes } = finished
    return sendContinuedSignIn(reply, { cookies, signInCookies }, outcome, { recoveryCodes })
  }

  server.post(
    '/api/auth/totp/confirm',
    { schema: factorsSchemas.confirm, onRequest: guards.enrol },
    async (request, reply) => {
      const enroller = enrolling.of(request)
      const { code } = request.body
      if ('challenge' in enroller) return confirmAtEnrolment(code, enroller.challenge, request, reply)
      return factorsConfirmRefusals.answer(reply, await ownFactors.confirm(callers.contextOf(request), code))
    },
  )

  server.delete(
    '/api/auth/totp',
    { schema: factorsSchemas.remove, onRequest: guards.sensitive },
    async (request, reply) => {
      const removed = await ownFactors.remove(callers.contextOf(request))
      return isRefused(removed)
        ? removeRefusals.sendRefusal(reply, removed)
        : sendTokensOnly(reply, cookies, removed.issued)
    },
  )

  server.post(
    '/api/auth/recovery-codes',
    { schema: factorsSchemas.renew, onRequest: guards.sensitive },
    async (request, reply) => {
      return changeRefusals.answer(reply, await ownFactors.renewRecoveryCodes(callers.contextOf(request)))
    },
  )

  const removeDeviceOptions = { schema: factorsSchemas.removeDevice, onRequest: guards.sensitive }
  server.delete('/api/auth/trusted-devices/:id', removeDeviceOptions, async (request, reply) => {
    const removed = await ownFactors.removeTrustedDevice(callers.contextOf(request), request.params.id)
    return deviceRefusals.answer(reply, isRefused(removed) ? removed : undefined, 204)
  })
}

type AppReplacementDependencies = {
  accountChanges: AccountChanges
  users: Users
  sessionLookups: SessionLookups
  appReplacements: AppReplacements
  undos: Undos
}

/**
 * Replaces the authenticator app by another one. The former app works until then, so this is allowed where every account needs a second
 * factor, too. The routes let only fresh sessions in.
 */
export const createAppReplacement = (deps: AppReplacementDependencies) => {
  const { accountChanges, users, sessionLookups, appReplacements, undos } = deps
  return {
    begin: async (caller: SessionCaller) => {
      const { userId, sessionId } = caller
      const user = await users.findById(userId)
      if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
      return appReplacements.begin({ userId, sessionId, account: user.email })
    },

    confirm: (context: CallerContext, code: string) =>
      accountChanges.byCaller(context, 'totp_replaced', async (sql, { id: userId }) => {
        const { sessionId } = context.caller
        const earlier = totpBefore(await undos.openOf(sql, userId))
        const replaced = await appReplacements.confirm(sql, { userId, sessionId, code }, earlier)
        return isRefused(replaced) ? replaced : { changes: { totp_replaced: { undo: replaced } } }
      }),
  }
}

const replaceRefusals = [...guardRefusals, 'fresh_sign_in_required', 'totp_is_off'] as const
const appReplacementBeginRefusals = routeRefusals(...replaceRefusals)
const appReplacementConfirmRefusals = routeRefusals(
  ...replaceRefusals,
  'bad_request',
  'wrong_second_factor',
  'no_totp_begun',
)
const appReplacementSchemas = {
  begin: {
    tags,
    summary:
      'Begin to replace the authenticator app; the present one works until a code of the new one confirms it, within 10 minutes',
    response: { 200: TotpBegun, ...appReplacementBeginRefusals.responses },
  },
  confirm: {
    tags,
    summary: 'Replace the authenticator app; ends the other sessions, and the recovery codes stay valid',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64, description: 'A code of the new app' }) }),
    response: { 204: NoContent, ...appReplacementConfirmRefusals.responses },
  },
}

type AppReplacementRouteDependencies = {
  guards: Guards
  appReplacement: ReturnType<typeof createAppReplacement>
  callers: Callers
}

export const appReplacementRoutes = (
  server: Server,
  { guards, appReplacement, callers }: AppReplacementRouteDependencies,
) => {
  const beginOptions = { schema: appReplacementSchemas.begin, onRequest: guards.sensitive }
  server.post('/api/auth/totp/new', beginOptions, async (request, reply) => {
    const totp = await appReplacement.begin(callers.of(request))
    if (isRefused(totp)) return appReplacementBeginRefusals.sendRefusal(reply, totp)
    return reply.send({ ...totp, qr: renderSVG(totp.uri, { border: 4 }) })
  })

  const confirmOptions = { schema: appReplacementSchemas.confirm, onRequest: guards.sensitive }
  server.post('/api/auth/totp/new/confirm', confirmOptions, async (request, reply) => {
    const replaced = await appReplacement.confirm(callers.contextOf(request), request.body.code)
    return appReplacementConfirmRefusals.answer(reply, isRefused(replaced) ? replaced : undefined, 204)
  })
}
