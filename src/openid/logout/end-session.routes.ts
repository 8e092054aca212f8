import type { ApplicationErrors } from '../../applications/application-errors.js'
import { isLogoutAddress } from '../../applications/application-rules.js'
import type { ApplicationSecrets } from '../../applications/application-secrets.js'
import { type Application, type Applications, unregisteredSentence } from '../../applications/applications.js'
import { EndSession, EndSessionBody } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import type { Cookies } from '../../http/cookies.js'
import { type Client, clientOf } from '../../http/request-origin.js'
import { routeRefusals, withHeaders } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { isCleanText } from '../../lib/strict-json.js'
import type { BrowserSession, BrowserSessionsOf } from '../../sessions/callers.js'
import type { Csrf } from '../../sessions/csrf.js'
import type { Limits } from '../../sessions/guards.js'
import { cacheHeader, forgetInBrowser } from '../../sessions/session-cookies.js'
import type { SessionLookups } from '../../sessions/session-lookups.js'
import { addPageRoutes, type PageRouteParts } from '../openid-door.js'
import type { IdTokens } from '../token/id-tokens.js'

/** The sessions that the cookies name. There are several if a cookie was planted. */
type BrowserSessions = readonly BrowserSession[]

type EndSessionDependencies = {
  applications: Pick<Applications, 'find'>
  applicationSecrets: Pick<ApplicationSecrets, 'findOwner'>
  applicationErrors: Pick<ApplicationErrors, 'note' | 'noteUnknown'>
  idTokens: Pick<IdTokens, 'readHint'>
  sessionLookups: Pick<SessionLookups, 'isLiveForAnyToken'>
  /** Ends these sessions, as a sign-out of the browser does. */
  signOut: (browserSessions: BrowserSessions, client: Client) => Promise<void>
}

type Problem = NonNullable<EndSession['problem']>
type Hint = NonNullable<Awaited<ReturnType<IdTokens['readHint']>>>
/** The valid parts of the application's request, and its problem. */
type LogoutRequest = { application?: Application; hint?: Hint; location?: string; problem?: Problem }

/** OpenID Connect RP-Initiated Logout 1.0, section 2. */
const createReadRequest = ({
  applications,
  applicationSecrets,
  applicationErrors,
  idTokens,
}: EndSessionDependencies) => {
  /** Only a registered address is followed, byte for byte (section 3). An address has no fragment. */
  const locationOf = (application: Application | undefined, address: string, state: string | null, client: Client) => {
    // With neither a hint nor `client_id`, the service does not know which application the address belongs to.
    if (!application) return { problem: 'unnamed_application' as const }
    if (isLogoutAddress(application, address)) {
      if (state === null) return { location: address }
      return { location: `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}` }
    }
    const sentence = unregisteredSentence('post_logout_redirect_uri', address, application.logoutAddresses)
    applicationErrors.note(application, 'logout_address', sentence, client)
    return { problem: 'unknown_address' as const }
  }

  return async (text: string, client: Client): Promise<LogoutRequest> => {
    const parameters = new URLSearchParams(text)
    const names = [...parameters.keys()]
    const isClean = [...parameters].flat().every(isCleanText)
    if (!isClean || new Set(names).size < names.length) return { problem: 'invalid_parameters' }
    const token = parameters.get('id_token_hint')
    const clientId = parameters.get('client_id')
    const hint = token === null ? undefined : await idTokens.readHint(token)
    if (token !== null && !hint) return { problem: 'invalid_hint' }
    // A hint that was issued to another application than the one that sends it proves nothing.
    if (hint && clientId !== null && hint.applicationId !== clientId) return { problem: 'invalid_hint' }
    const id = clientId ?? hint?.applicationId
    const application = id === undefined ? undefined : await applications.find(id)
    if (id !== undefined && !application) {
      applicationErrors.noteUnknown(id, await applicationSecrets.findOwner(id), client)
      return { problem: 'unknown_application' }
    }
    const address = parameters.get('post_logout_redirect_uri')
    const destination = address === null ? {} : locationOf(application, address, parameters.get('state'), client)
    return { ...(application && { application }), ...(hint && { hint }), ...destination }
  }
}

/**
 * An application asks to sign its user out. Its request alone ends nothing, because any site could send it with a link. It has to show
 * an ID token of the session that this browser has; otherwise the user is asked.
 */
export const createEndSession = (deps: EndSessionDependencies) => {
  const { sessionLookups, signOut } = deps
  const readRequest = createReadRequest(deps)

  const findLiveSession = async (browserSessions: BrowserSessions) => {
    for (const session of browserSessions) if (await sessionLookups.isLiveForAnyToken(session)) return session
    return undefined
  }

  const isProven = ({ hint, problem }: LogoutRequest, { userId, sessionId }: BrowserSession) =>
    problem === undefined && hint?.sid === sessionId && hint.userId === userId

  return async (
    text: string,
    browserSessions: BrowserSessions,
    { confirmed, client }: { confirmed: boolean; client: Client },
  ) => {
    const logoutRequest = await readRequest(text, client)
    const session = await findLiveSession(browserSessions)
    const { application, location, problem } = logoutRequest
    const applicationAndProblem = {
      ...(application && { application: { name: application.name, home: application.home } }),
      ...(problem && { problem }),
    }
    if (session && !confirmed && !isProven(logoutRequest, session)) {
      const { username } = session
      return {
        next: 'ask',
        ...applicationAndProblem,
        ...(username !== undefined && { user: { username } }),
      } satisfies EndSession
    }
    if (session) await signOut(browserSessions, client)
    return { next: 'done', ...applicationAndProblem, ...(location !== undefined && { location }) } satisfies EndSession
  }
}

const { responses, sendRefusal } = routeRefusals(
  'not_found',
  'bad_request',
  'invalid_csrf_token',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

/** The route is hidden, because it is for our own page and no part of the public API. */
const schema = {
  hide: true,
  body: EndSessionBody,
  response: {
    200: withHeaders(EndSession, { 'Set-Cookie': 'With `done`: clears the cookies of the session', ...cacheHeader }),
    ...responses,
  },
}

type OpenidEndSessionRouteDependencies = PageRouteParts & {
  browserSessionsOf: BrowserSessionsOf
  cookies: Cookies
  csrf: Csrf
  limits: Limits
  /** Returns undefined while there is no application. */
  openEndSession: () => Promise<ReturnType<typeof createEndSession> | undefined>
}

/**
 * OpenID Connect RP-Initiated Logout 1.0. GET and POST only send the page. Its script then posts to `/answer` from our own origin, and
 * only the route of `/answer` reads cookies and ends the session.
 */
export const openidEndSessionRoutes = (server: Server, deps: OpenidEndSessionRouteDependencies) => {
  const { browserSessionsOf, cookies, csrf, limits, openEndSession } = deps
  const path = '/api/auth/end-session'
  addPageRoutes(server, path, { ...deps, isOpen: async () => (await openEndSession()) !== undefined })

  const answerOptions = { schema, onRequest: [csrf.required, limits.logout], config: { ownOriginOnly: true } }
  server.post(`${path}/answer`, answerOptions, async (request, reply) => {
    const endSession = await openEndSession()
    if (!endSession) return sendRefusal(reply, refuse('not_found'))
    const { parameters, confirmed = false } = request.body
    const browserSessions = browserSessionsOf(request)
    const answer = await endSession(parameters, browserSessions, { confirmed, client: clientOf(request) })
    // A link of any site leads here, and must not empty the cache of a browser that has no session.
    if (answer.next === 'done' && browserSessions.length > 0) forgetInBrowser(reply, cookies)
    else if (answer.next === 'done') cookies.clearSession(reply)
    return reply.send(answer)
  })
}
