import { Type } from 'typebox'
import { longestPasskeyName } from '../contract/name-lengths.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { PasskeyCreationOptions, PasskeyCredential } from '../contract/passkeys.js'
import { NoContent, Passkey, PasskeyAdded } from '../contract/schemas.js'
import { amrOfProof } from '../contract/second-factors.js'
import { clientDataOf, sessionBinding } from '../factors/passkey-ceremonies.js'
import { type NewPasskey, passkeyName } from '../factors/passkeys.js'
import { clientOf } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { uuidPattern } from '../lib/uuid.js'
import { deviceIn } from '../messages/write-letter.js'
import type { Transaction } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { Browser, CallerContext, SessionCaller } from '../sessions/session-facts.js'
import { sendContinuedSignIn } from '../sign-in/answers.js'
import { enrollerSecurity } from '../sign-in/enrol-guard.js'
import type { User } from '../users/users.js'
import { passkeyBody } from './user-bodies.js'

/** The name as the user typed it; otherwise that of the password manager, if it is known, or else the device in the language of the page. */
type Names = { typed: string | undefined; device: string }

/** What a browser has made. */
type CreatedPasskey = { credential: PasskeyCredential; sealedChallenge: string | undefined; names: Names }

const addTo = async (
  { passkeys }: App,
  { newPasskey, names }: { newPasskey: NewPasskey; names: Names },
  sql: Transaction,
  user: User,
) => {
  const name = names.typed ?? newPasskey.provider ?? names.device
  const added = await passkeys.add(sql, user, newPasskey, name)
  if (isRefused(added)) return added
  const details = { mail: { passkeyName: added.name }, undo: { id: added.id } }
  return { result: passkeyBody(added), changes: { passkey_added: details } }
}

const optionsFor = async ({ users, sessionLookups, passkeyCeremonies }: App, caller: SessionCaller) => {
  const user = await users.findById(caller.userId)
  if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
  return passkeyCeremonies.registrationOptions(user, sessionBinding(caller))
}

const optionsAtSignIn = async ({ enrolments, passkeyCeremonies }: App, token: string) => {
  const open = await enrolments.findOpen(token)
  if (isRefused(open)) return open
  const { pending, user } = open
  return passkeyCeremonies.registrationOptions(user, sessionBinding({ userId: user.id, sessionId: pending.id }))
}

/** The user has just used the new passkey, so the session has it as a proof from now on. */
const addPasskey = async (app: App, context: CallerContext, { credential, sealedChallenge, names }: CreatedPasskey) => {
  const binding = sessionBinding(context.caller)
  const newPasskey = await app.passkeyCeremonies.verifyNew({ credential, sealedChallenge, binding })
  if (isRefused(newPasskey)) return newPasskey
  return app.accountChanges.byCaller(context, ['passkey_added', 'stepped_up'], async (sql, user) => {
    const added = await addTo(app, { newPasskey, names }, sql, user)
    if (isRefused(added)) return added
    const stepped_up = { proven: amrOfProof('passkey'), event: { reason: 'passkey' } }
    return { result: added.result, changes: { ...added.changes, stepped_up } }
  })
}

/** Adds the first factor of an account, and finishes the sign-in that cannot go on without one. */
const addAtSignIn = async (
  app: App,
  { credential, sealedChallenge, names }: CreatedPasskey,
  token: string,
  browser: Browser,
) => {
  const open = await app.enrolments.findOpen(token)
  if (isRefused(open)) return open
  const binding = sessionBinding({ userId: open.user.id, sessionId: open.pending.id })
  const newPasskey = await app.passkeyCeremonies.verifyNew({ credential, sealedChallenge, binding })
  if (isRefused(newPasskey)) return newPasskey
  return app.signIns.byEnrolment({ token, second: 'passkey' }, browser, (sql, user) =>
    addTo(app, { newPasskey, names }, sql, user),
  )
}

const renamePasskey = async (
  { accountChanges, passkeys }: App,
  context: CallerContext,
  id: string,
  typedName: string,
) => {
  const name = passkeyName(typedName)
  if (name === null) return refuse('bad_request', { message: 'Choose a name with visible characters' })
  const renamed = await accountChanges.byCaller(context, 'passkey_renamed', async (sql, user) => {
    const passkey = await passkeys.rename(sql, id, user.id, name)
    return passkey ? { result: passkeyBody(passkey), changes: { passkey_renamed: {} } } : refuse('not_found')
  })
  return isRefused(renamed) ? renamed : renamed.result
}

const removePasskey = ({ accountChanges, factors, passkeys }: App, context: CallerContext, id: string) =>
  accountChanges.byCaller(context, 'passkey_removed', async (sql, user) => {
    const mustKeepPasskey = await factors.mustKeep(sql, user.id, 'passkey')
    const removed = await passkeys.remove(sql, user, id, { mustKeepPasskey })
    if (isRefused(removed)) return removed
    return { changes: { passkey_removed: { mail: { passkeyName: removed.name } } } }
  })

const tag = 'factors'
const name = Type.String({ minLength: 1, maxLength: longestPasskeyName })
const params = Type.Object({ id: Type.String({ pattern: uuidPattern }) })
const enrolRefusals = ['challenge_over', 'mailed_code_required', 'link_required', 'current_password_required'] as const
const clearsCeremony = { 'Set-Cookie': 'Clears passkey_…, which bound the challenge to this browser' }

/** Passkeys are added with a fresh session, or at a sign-in that cannot go on without a factor. */
const addPasskeyRoutes = (server: Server, app: App) => {
  const { guards, ceremonyCookies, callers, cookies, enrolling, signInCookies } = app

  route(server, 'POST /api/auth/passkeys/options', {
    guard: guards.enrol,
    tag,
    security: enrollerSecurity,
    summary: 'Begin to add a passkey; answer the challenge within 5 minutes',
    refuses: enrolRefusals,
    refusalHeaders: { 401: { 'Set-Cookie': 'After `next: "enrolment"`: clears challenge, if the sign-in is over' } },
    answers: { 200: withHeaders(PasskeyCreationOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }) },
    handle: async ({ request, reply }) => {
      const enroller = enrolling.of(request)
      const begun = await ('caller' in enroller
        ? optionsFor(app, enroller.caller)
        : optionsAtSignIn(app, enroller.challenge))
      if (isRefused(begun)) {
        signInCookies.clearChallengeIfOver(reply, begun)
        return begun
      }
      ceremonyCookies.keep(request, reply, begun.ceremony)
      return begun.options
    },
  })

  route(server, 'POST /api/auth/passkeys', {
    guard: guards.enrol,
    tag,
    security: enrollerSecurity,
    summary: 'Add a passkey. After `next: "enrolment"` this also finishes the sign-in',
    body: Type.Object({ credential: PasskeyCredential, name: Type.Optional(name) }),
    refuses: [...enrolRefusals, 'bad_request', 'passkey_rejected', 'too_many_passkeys'],
    refusalHeaders: { 401: clearsCeremony, 403: clearsCeremony, 409: clearsCeremony },
    answers: {
      201: withHeaders(PasskeyAdded, { 'Set-Cookie': 'New access_token and refresh_token' }),
    },
    handle: async ({ body: { credential, name: typedName }, request, reply }) => {
      const sealedChallenge = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
      const enroller = enrolling.of(request)
      const { userAgent, language = 'en' } = clientOf(request)
      const names = { typed: typedName, device: deviceIn(language, userAgent) }
      const created = { credential, sealedChallenge, names }
      if ('caller' in enroller) {
        const added = await addPasskey(app, callers.contextOf(request), created)
        if (isRefused(added)) return added
        if (added.issued) cookies.renewSession(reply, added.issued)
        return added.result
      }
      const finished = await addAtSignIn(app, created, enroller.challenge, signInCookies.browserOf(request))
      if (!isRefused(finished)) return sendContinuedSignIn(reply, app, finished.outcome, finished.added)
      signInCookies.clearChallengeIfOver(reply, finished)
      return finished
    },
  })
}

export const passkeysRoutes = (server: Server, app: App) => {
  const { guards, callers, cookies } = app

  addPasskeyRoutes(server, app)

  route(server, 'PATCH /api/auth/passkeys/:id', {
    guard: guards.change,
    tag,
    summary: 'Give a passkey another name',
    params,
    body: Type.Object({ name }),
    refuses: ['bad_request', 'not_found'],
    answers: { 200: Passkey },
    handle: ({ body, params: { id }, request }) => renamePasskey(app, callers.contextOf(request), id, body.name),
  })

  route(server, 'DELETE /api/auth/passkeys/:id', {
    guard: guards.sensitive,
    tag,
    summary: 'Remove a passkey, unless it is the last way in; ends the other sessions and gives this one new tokens',
    params,
    refuses: ['bad_request', 'not_found', 'last_way_in', 'last_factor'],
    answers: { 204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    handle: async ({ params: { id }, request, reply }) => {
      const removed = await removePasskey(app, callers.contextOf(request), id)
      return isRefused(removed) ? removed : sendTokensOnly(reply, cookies, removed.issued)
    },
  })
}
