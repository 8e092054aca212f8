import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { longestPasskeyName } from '../contract/names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { PasskeyCreationOptions, PasskeyCredential } from '../contract/passkeys.js'
import { NoContent, Passkey, PasskeyAdded } from '../contract/schemas.js'
import type { CeremonyCookies } from '../factors/passkey-ceremonies.js'
import { clientDataOf, type PasskeyCeremonies, sessionBinding } from '../factors/passkey-ceremonies.js'
import { type NewPasskey, type Passkeys, passkeyName } from '../factors/passkeys.js'
import type { Factors } from '../factors/second-factors.js'
import type { Cookies } from '../http/cookies.js'
import type { Client } from '../http/request-origin.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { uuidPattern } from '../lib/uuid.js'
import { deviceIn } from '../messages/origin.js'
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
import { passkeyBody } from './user-bodies.js'

type OwnPasskeysDependencies = {
  accountChanges: AccountChanges
  users: Users
  sessionLookups: SessionLookups
  passkeys: Passkeys
  passkeyCeremonies: PasskeyCeremonies
  factors: Factors
  /** Whether every account needs a second factor. */
  secondFactorRequired: boolean
}
type CreatedPasskey = { credential: PasskeyCredential; sealedChallenge: string | undefined; name: string | undefined }

/** The name of a new passkey. Without one, the device is named in the language of the page. */
const nameFor = (name: string | undefined, { userAgent, language = 'en' }: Client) =>
  name ?? deviceIn(language, userAgent)

const createAddTo =
  ({ passkeys }: OwnPasskeysDependencies) =>
  async (sql: Transaction, user: User, newPasskey: NewPasskey, name: string) => {
    const added = await passkeys.add(sql, user, newPasskey, name)
    if (isRefused(added)) return added
    const details = { mail: { passkeyName: added.name }, undo: { id: added.id } }
    return { result: passkeyBody(added), changes: { passkey_added: details } }
  }

type EnrolmentDependencies = OwnPasskeysDependencies & {
  signIns: SignIns
  enrolments: Enrolments
}

/** The first factor of an account, added at a sign-in that cannot go on without one. */
export const createEnrolmentPasskeys = (deps: EnrolmentDependencies) => {
  const { passkeyCeremonies, signIns, enrolments } = deps
  const addTo = createAddTo(deps)

  return {
    begin: async (token: string) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const { pending, user } = open
      return passkeyCeremonies.registrationOptions(user, sessionBinding({ userId: user.id, sessionId: pending.id }))
    },

    /** Adds the passkey and finishes the sign-in. */
    add: async ({ credential, sealedChallenge, name }: CreatedPasskey, token: string, visit: Visit) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const binding = sessionBinding({ userId: open.user.id, sessionId: open.pending.id })
      const newPasskey = await passkeyCeremonies.verifyNew({ credential, sealedChallenge, binding })
      if (isRefused(newPasskey)) return newPasskey
      const { client } = visit
      return signIns.byEnrolment({ token, second: 'passkey' }, visit, (sql, user) =>
        addTo(sql, user, newPasskey, nameFor(name, client)),
      )
    },
  }
}

/** The passkeys of the caller's account. The routes let only fresh sessions add and remove them. */
export const createOwnPasskeys = (deps: OwnPasskeysDependencies) => {
  const { accountChanges, users, sessionLookups, passkeys, passkeyCeremonies, factors, secondFactorRequired } = deps

  const addTo = createAddTo(deps)

  return {
    begin: async (caller: SessionCaller) => {
      const user = await users.findById(caller.userId)
      if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
      return passkeyCeremonies.registrationOptions(user, sessionBinding(caller))
    },

    add: async (context: CallerContext, { credential, sealedChallenge, name }: CreatedPasskey) => {
      const { caller, client } = context
      const newPasskey = await passkeyCeremonies.verifyNew({
        credential,
        sealedChallenge,
        binding: sessionBinding(caller),
      })
      if (isRefused(newPasskey)) return newPasskey
      const added = await accountChanges.byCaller(context, 'passkey_added', (sql, user) =>
        addTo(sql, user, newPasskey, nameFor(name, client)),
      )
      return isRefused(added) ? added : added.result
    },

    rename: async (context: CallerContext, id: string, typedName: string) => {
      const name = passkeyName(typedName)
      if (name === null) return refuse('bad_request', { message: 'Choose a name with visible characters' })
      const renamed = await accountChanges.byCaller(context, 'passkey_renamed', async (sql, user) => {
        const passkey = await passkeys.rename(sql, id, user.id, name)
        return passkey ? { result: passkeyBody(passkey), changes: { passkey_renamed: {} } } : refuse('not_found')
      })
      return isRefused(renamed) ? renamed : renamed.result
    },

    remove: (context: CallerContext, id: string) =>
      accountChanges.byCaller(context, 'passkey_removed', async (sql, user) => {
        const mustKeepPasskey = secondFactorRequired && !(await factors.hasTotp(sql, user.id))
        const removed = await passkeys.remove(sql, user, id, { mustKeepPasskey })
        if (isRefused(removed)) return removed
        return { changes: { passkey_removed: { mail: { passkeyName: removed.name } } } }
      }),
  }
}

const freshRefusals = [...guardRefusals, 'fresh_sign_in_required'] as const

const enrolRefusals = [
  ...freshRefusals,
  'challenge_over',
  'mailed_code_required',
  'link_required',
  'current_password_required',
] as const
const beginRefusals = routeRefusals(...enrolRefusals)
const addRefusals = routeRefusals(...enrolRefusals, 'bad_request', 'passkey_rejected', 'too_many_passkeys')
const renameRefusals = routeRefusals(...guardRefusals, 'bad_request', 'not_found')
const removeRefusals = routeRefusals(...freshRefusals, 'bad_request', 'not_found', 'last_way_in', 'last_factor')

const clearsCeremony = 'Clears passkey_…, which bound the challenge to this browser'
const tags = ['factors']
const name = Type.String({ minLength: 1, maxLength: longestPasskeyName })
const params = Type.Object({ id: Type.String({ pattern: uuidPattern }) })
const schemas = {
  begin: {
    tags,
    security: enrollerSecurity,
    summary: 'Begin to add a passkey; answer the challenge within 5 minutes',
    response: {
      200: withHeaders(PasskeyCreationOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }),
      ...withCookies(beginRefusals.responses, {
        401: 'After `next: "enrolment"`: clears challenge, if the sign-in is over',
      }),
    },
  },
  add: {
    tags,
    security: enrollerSecurity,
    summary: 'Add a passkey. After `next: "enrolment"` this also finishes the sign-in',
    body: Type.Object({ credential: PasskeyCredential, name: Type.Optional(name) }),
    response: {
      201: withHeaders(PasskeyAdded, { 'Set-Cookie': 'After `next: "enrolment"`: access_token and refresh_token' }),
      ...withCookies(addRefusals.responses, { 401: clearsCeremony, 403: clearsCeremony, 409: clearsCeremony }),
    },
  },
  rename: {
    tags,
    summary: 'Give a passkey another name',
    params,
    body: Type.Object({ name }),
    response: { 200: Passkey, ...renameRefusals.responses },
  },
  remove: {
    tags,
    summary: 'Remove a passkey, unless it is the last way in; ends the other sessions and gives this one new tokens',
    params,
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
      ...removeRefusals.responses,
    },
  },
}

type PasskeysRouteDependencies = {
  guards: Guards
  ownPasskeys: ReturnType<typeof createOwnPasskeys>
  enrolmentPasskeys: ReturnType<typeof createEnrolmentPasskeys>
  ceremonyCookies: CeremonyCookies
  callers: Callers
  enrolling: Enrolling
  cookies: Cookies
  signInCookies: SignInCookies
}

export const passkeysRoutes = (server: Server, deps: PasskeysRouteDependencies) => {
  const { guards, ownPasskeys, enrolmentPasskeys, ceremonyCookies, callers, enrolling, cookies, signInCookies } = deps
  const path = '/api/auth/passkeys'

  server.post(`${path}/options`, { schema: schemas.begin, onRequest: guards.enrol }, async (request, reply) => {
    const enroller = enrolling.of(request)
    const begun = await ('caller' in enroller
      ? ownPasskeys.begin(enroller.caller)
      : enrolmentPasskeys.begin(enroller.challenge))
    if (isRefused(begun)) return beginRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, begun), begun)
    ceremonyCookies.keep(request, reply, begun.ceremony)
    return reply.send(begun.options)
  })

  type CreatedPasskey = Parameters<typeof ownPasskeys.add>[1]
  const addAtEnrolment = async (
    createdPasskey: CreatedPasskey,
    token: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    const finished = await enrolmentPasskeys.add(createdPasskey, token, signInCookies.visitOf(request))
    if (isRefused(finished))
      return addRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, finished), finished)
    return sendContinuedSignIn(reply.status(201), { cookies, signInCookies }, finished.outcome, finished.added)
  }

  server.post(path, { schema: schemas.add, onRequest: guards.enrol }, async (request, reply) => {
    const { credential, name: typedName } = request.body
    const sealedChallenge = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
    const enroller = enrolling.of(request)
    const createdPasskey = { credential, sealedChallenge, name: typedName }
    if ('challenge' in enroller) return addAtEnrolment(createdPasskey, enroller.challenge, request, reply)
    return addRefusals.answer(reply, await ownPasskeys.add(callers.contextOf(request), createdPasskey), 201)
  })

  server.patch(`${path}/:id`, { schema: schemas.rename, onRequest: guards.change }, async (request, reply) => {
    return renameRefusals.answer(
      reply,
      await ownPasskeys.rename(callers.contextOf(request), request.params.id, request.body.name),
    )
  })

  server.delete(`${path}/:id`, { schema: schemas.remove, onRequest: guards.sensitive }, async (request, reply) => {
    const removed = await ownPasskeys.remove(callers.contextOf(request), request.params.id)
    return isRefused(removed)
      ? removeRefusals.sendRefusal(reply, removed)
      : sendTokensOnly(reply, cookies, removed.issued)
  })
}
