import { Type } from 'typebox'
import { renderSVG } from 'uqr'
import { describeDevice } from '../contract/device-names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Factors, NoContent, RecoveryCodes, TotpBegun, TotpConfirmed } from '../contract/schemas.js'
import { totpBefore } from '../factors/totp.js'
import type { TrustedDevice } from '../factors/trusted-devices.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { uuidPattern } from '../lib/uuid.js'
import type { Transaction } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { CallerContext, SessionCaller } from '../sessions/session-facts.js'
import { sendContinuedSignIn } from '../sign-in/answers.js'
import { enrollerSecurity } from '../sign-in/enrol-guard.js'
import type { User } from '../users/users.js'
import { passkeyBody } from './user-bodies.js'

const deviceBody = ({ id, ip, userAgent, createdAt, expiresAt }: TrustedDevice) => ({
  id,
  ip,
  ...describeDevice(userAgent),
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
})

const factorsOf = async ({ users, factors, passkeys, trustedDevices }: App, userId: string) => {
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
}

/** What an authenticator app is told of the caller's account. An access token may be older than the end of its session. */
const requestFor = async ({ users, sessionLookups }: App, caller: SessionCaller) => {
  const { userId, sessionId } = caller
  const user = await users.findById(userId)
  if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
  return { userId, sessionId, account: user.email }
}

/** The same at a sign-in that cannot go on without a factor. */
const requestAtSignIn = async ({ enrolments }: App, token: string) => {
  const open = await enrolments.findOpen(token)
  if (isRefused(open)) return open
  const { pending, user } = open
  return { userId: user.id, sessionId: pending.id, account: user.email }
}

/** Only the session or the sign-in that began to add the app may confirm it. */
const addTotp = async ({ factors }: App, code: string, sql: Transaction, { id: userId }: User, sessionId: string) => {
  const added = await factors.confirm(sql, { userId, sessionId, code })
  return isRefused(added) ? added : { result: added, changes: { totp_added: {} } }
}

/** The code proves the new factor, so the session has it from now on: nobody is asked for a second code a moment later. */
const confirmTotp = (app: App, context: CallerContext, code: string) =>
  app.accountChanges.byCaller(context, ['totp_added', 'stepped_up'], async (sql, user) => {
    const added = await addTotp(app, code, sql, user, context.caller.sessionId)
    if (isRefused(added)) return added
    const { result, changes } = added
    return { result, changes: { ...changes, stepped_up: { proven: 'otp' as const, event: { reason: 'code' } } } }
  })

const removeTotp = ({ accountChanges, factors }: App, context: CallerContext) =>
  accountChanges.byCaller(context, 'totp_removed', async (sql, { id: userId }) => {
    if (!(await factors.heldBy(sql, userId)).includes('totp')) return refuse('totp_is_off')
    // The user's row is locked: of two requests at once the second one sees what the first has left.
    if (await factors.mustKeep(sql, userId, 'totp')) return refuse('last_factor')
    await factors.remove(sql, userId, ['totp'])
    return { changes: { totp_removed: {} } }
  })

const renewRecoveryCodes = async ({ accountChanges, factors }: App, context: CallerContext) => {
  const renewed = await accountChanges.byCaller(context, 'recovery_codes_renewed', async (sql, user) => {
    const result = await factors.renewRecoveryCodes(sql, user.id)
    return result ? { result, changes: { recovery_codes_renewed: {} } } : refuse('totp_is_off')
  })
  return isRefused(renewed) ? renewed : { recoveryCodes: renewed.result }
}

/** The former app works until then, so this is allowed where every account needs a second factor, too. */
const replaceTotp = ({ accountChanges, factors, undos }: App, context: CallerContext, code: string) =>
  accountChanges.byCaller(context, 'totp_replaced', async (sql, { id: userId }) => {
    const { sessionId } = context.caller
    const earlier = totpBefore(await undos.openOf(sql, userId))
    const replaced = await factors.confirmReplacement(sql, { userId, sessionId, code }, earlier)
    return isRefused(replaced) ? replaced : { changes: { totp_replaced: { undo: replaced } } }
  })

const withQr = (totp: { secret: string; uri: string }) => ({ ...totp, qr: renderSVG(totp.uri, { border: 4 }) })

const tag = 'factors'
const enrolment = {
  tag,
  security: enrollerSecurity,
  refusalHeaders: { 401: { 'Set-Cookie': 'After `next: "enrolment"`: clears challenge, if the sign-in is over' } },
}
const enrolRefusals = ['challenge_over', 'mailed_code_required', 'link_required', 'current_password_required'] as const

/** Apps are added with a session, or at a sign-in that cannot go on without a factor. */
const addTotpRoutes = (server: Server, app: App) => {
  const { guards, callers, cookies, enrolling, signInCookies, factors, signIns } = app

  route(server, 'POST /api/auth/totp', {
    ...enrolment,
    guard: guards.enrol,
    summary: 'Begin to add an authenticator app; confirm it with a code within 10 minutes',
    refuses: [...enrolRefusals, 'totp_is_on'],
    answers: { 200: TotpBegun },
    handle: async ({ request, reply }) => {
      const enroller = enrolling.of(request)
      const secretRequest = await ('caller' in enroller
        ? requestFor(app, enroller.caller)
        : requestAtSignIn(app, enroller.challenge))
      const totp = isRefused(secretRequest) ? secretRequest : await factors.begin(secretRequest)
      if (!isRefused(totp)) return withQr(totp)
      signInCookies.clearChallengeIfOver(reply, totp)
      return totp
    },
  })

  route(server, 'POST /api/auth/totp/confirm', {
    ...enrolment,
    guard: guards.enrol,
    summary:
      'Switch two-step sign-in on; ends the other sessions and shows the recovery codes once. After `next: "enrolment"` it also finishes the sign-in',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }),
    refuses: [...enrolRefusals, 'totp_is_on', 'bad_request', 'wrong_second_factor', 'no_totp_begun'],
    answers: {
      200: withHeaders(TotpConfirmed, { 'Set-Cookie': 'New access_token and refresh_token' }),
    },
    handle: async ({ body: { code }, request, reply }) => {
      const enroller = enrolling.of(request)
      if ('caller' in enroller) {
        const added = await confirmTotp(app, callers.contextOf(request), code)
        if (isRefused(added)) return added
        if (added.issued) cookies.renewSession(reply, added.issued)
        return added.result
      }
      const proof = { token: enroller.challenge, second: 'otp' } as const
      const finished = await signIns.byEnrolment(proof, signInCookies.browserOf(request), (...held) =>
        addTotp(app, code, ...held),
      )
      if (!('outcome' in finished)) {
        signInCookies.clearChallengeIfOver(reply, finished)
        return finished
      }
      const { recoveryCodes } = finished.added
      return sendContinuedSignIn(reply, app, finished.outcome, { recoveryCodes })
    },
  })
}

/** The factors of the caller's account. Only fresh sessions change them. */
export const factorsRoutes = (server: Server, app: App) => {
  const { guards, callers, cookies, accountChanges, trustedDevices } = app

  route(server, 'GET /api/auth/factors', {
    guard: guards.read,
    tag,
    summary: "What the caller's account can sign in with",
    refuses: [],
    answers: { 200: Factors },
    handle: ({ request }) => factorsOf(app, callers.of(request).userId),
  })

  addTotpRoutes(server, app)

  route(server, 'DELETE /api/auth/totp', {
    guard: guards.sensitive,
    tag,
    summary: 'Switch two-step sign-in off; ends the other sessions and gives this one new tokens',
    refuses: ['totp_is_off', 'last_factor'],
    answers: { 204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    handle: async ({ request, reply }) => {
      const removed = await removeTotp(app, callers.contextOf(request))
      return isRefused(removed) ? removed : sendTokensOnly(reply, cookies, removed.issued)
    },
  })

  route(server, 'POST /api/auth/recovery-codes', {
    guard: guards.sensitive,
    tag,
    summary: 'Make new recovery codes; the old ones do not work any more',
    refuses: ['totp_is_off'],
    answers: { 200: RecoveryCodes },
    handle: ({ request }) => renewRecoveryCodes(app, callers.contextOf(request)),
  })

  route(server, 'DELETE /api/auth/trusted-devices/:id', {
    guard: guards.sensitive,
    tag,
    summary: 'Ask for a code again in a browser that was trusted',
    params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
    refuses: ['bad_request', 'not_found'],
    answers: { 204: NoContent },
    handle: async ({ params, request }) => {
      const context = callers.contextOf(request)
      const removed = await accountChanges.byCaller(context, 'trusted_device_removed', async (sql, user) =>
        (await trustedDevices.remove(sql, params.id, user.id))
          ? { changes: { trusted_device_removed: {} } }
          : refuse('not_found'),
      )
      return isRefused(removed) ? removed : undefined
    },
  })
}

export const appReplacementRoutes = (server: Server, app: App) => {
  const { guards, callers, factors } = app

  route(server, 'POST /api/auth/totp/new', {
    guard: guards.sensitive,
    tag,
    summary:
      'Begin to replace the authenticator app; the present one works until a code of the new one confirms it, within 10 minutes',
    refuses: ['totp_is_off'],
    answers: { 200: TotpBegun },
    handle: async ({ request }) => {
      const secretRequest = await requestFor(app, callers.of(request))
      const totp = isRefused(secretRequest) ? secretRequest : await factors.beginReplacement(secretRequest)
      return isRefused(totp) ? totp : withQr(totp)
    },
  })

  route(server, 'POST /api/auth/totp/new/confirm', {
    guard: guards.sensitive,
    tag,
    summary: 'Replace the authenticator app; ends the other sessions, and the recovery codes stay valid',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64, description: 'A code of the new app' }) }),
    refuses: ['totp_is_off', 'bad_request', 'wrong_second_factor', 'no_totp_begun'],
    answers: { 204: NoContent },
    handle: async ({ body, request }) => {
      const replaced = await replaceTotp(app, callers.contextOf(request), body.code)
      return isRefused(replaced) ? replaced : undefined
    },
  })
}
