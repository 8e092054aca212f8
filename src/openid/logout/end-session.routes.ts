import { isLogoutAddress } from '../../applications/application-rules.js'
import { type Application, unregisteredSentence } from '../../applications/applications.js'
import { EndSession, EndSessionBody } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import { clientOf, type RequestOrigin } from '../../http/request-origin.js'
import { route, withHeaders } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { isCleanText } from '../../lib/strict-json.js'
import type { App } from '../../service/open-http.js'
import { type BrowserSession, browserSessionsOf } from '../../sessions/callers.js'
import { cacheHeader, forgetInBrowser } from '../../sessions/session-cookies.js'
import type { OpenidRoom } from '../open-openid.js'
import { addPageRoutes, type ProtocolPages } from '../openid-door.js'
import type { IdTokens } from '../token/id-tokens.js'

/** The sessions that the cookies name. There are several if a cookie was planted. */
type BrowserSessions = readonly BrowserSession[]

type Problem = NonNullable<EndSession['problem']>
type Hint = NonNullable<Awaited<ReturnType<IdTokens['readHint']>>>
/** The valid parts of the application's request, and its problem. */
type LogoutRequest = { client?: Application; hint?: Hint; location?: string; problem?: Problem }

/** Only a registered address is followed, byte for byte (section 3). An address has no fragment. */
const locationOf = (
  { applicationErrors }: OpenidRoom,
  client: Application | undefined,
  address: string,
  state: string | null,
  origin: RequestOrigin,
) => {
  // With neither a hint nor `client_id`, the service does not know which client the address belongs to.
  if (!client) return { problem: 'unnamed_application' as const }
  if (isLogoutAddress(client, address)) {
    if (state === null) return { location: address }
    return { location: `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}` }
  }
  const sentence = unregisteredSentence('post_logout_redirect_uri', address, client.logoutAddresses)
  applicationErrors.note(client, 'logout_address', sentence, origin)
  return { problem: 'unknown_address' as const }
}

/** OpenID Connect RP-Initiated Logout 1.0, section 2. */
const readRequest = async (openid: OpenidRoom, text: string, origin: RequestOrigin): Promise<LogoutRequest> => {
  const { applications, applicationSecrets, applicationErrors, idTokens } = openid
  const parameters = new URLSearchParams(text)
  const names = [...parameters.keys()]
  const isClean = [...parameters].flat().every(isCleanText)
  if (!isClean || new Set(names).size < names.length) return { problem: 'invalid_parameters' }
  const token = parameters.get('id_token_hint')
  const clientId = parameters.get('client_id')
  const hint = token === null ? undefined : await idTokens.readHint(token)
  if (token !== null && !hint) return { problem: 'invalid_hint' }
  // A hint that was issued to another client than the one that sends it proves nothing.
  if (hint && clientId !== null && hint.clientId !== clientId) return { problem: 'invalid_hint' }
  const id = clientId ?? hint?.clientId
  const client = id === undefined ? undefined : await applications.find(id)
  if (id !== undefined && !client) {
    applicationErrors.noteUnknown(id, await applicationSecrets.findOwner(id), origin)
    return { problem: 'unknown_application' }
  }
  const address = parameters.get('post_logout_redirect_uri')
  const destination = address === null ? {} : locationOf(openid, client, address, parameters.get('state'), origin)
  return { ...(client && { client }), ...(hint && { hint }), ...destination }
}

const isProven = ({ hint, problem }: LogoutRequest, { userId, sessionId }: BrowserSession) =>
  problem === undefined && hint?.sid === sessionId && hint.userId === userId

/** Ends these sessions, as a sign-out of the browser does. */
type SignOut = (browserSessions: BrowserSessions, origin: RequestOrigin) => Promise<void>

/**
 * An application asks to sign its user out. Its request alone ends nothing, because any site could send it with a link. It has to show
 * an ID token of the session that this browser has; otherwise the user is asked.
 */
const endSession = async (
  { sessionLookups }: App,
  logoutRequest: LogoutRequest,
  browserSessions: BrowserSessions,
  confirmed: boolean,
  signOut: () => Promise<void>,
) => {
  const findLiveSession = async () => {
    for (const session of browserSessions) if (await sessionLookups.isLiveForAnyToken(session)) return session
    return undefined
  }
  const session = await findLiveSession()
  const { client, location, problem } = logoutRequest
  const applicationAndProblem = {
    ...(client && { application: { name: client.name, home: client.home } }),
    ...(problem && { problem }),
  }
  if (session && !confirmed && !isProven(logoutRequest, session)) {
    const { username } = session
    const user = username === undefined ? {} : { user: { username } }
    return { next: 'ask', ...applicationAndProblem, ...user } satisfies EndSession
  }
  if (session) await signOut()
  return { next: 'done', ...applicationAndProblem, ...(location !== undefined && { location }) } satisfies EndSession
}

/**
 * OpenID Connect RP-Initiated Logout 1.0. GET and POST only send the page. Its script then posts to `/answer` from our own origin, and
 * only the route of `/answer` reads cookies and ends the session.
 */
export const openidEndSessionRoutes = (server: Server, app: App, pages: ProtocolPages, signOut: SignOut) => {
  const { cookies, csrf, limits, openidProvider } = app
  const path = '/api/auth/end-session'
  addPageRoutes(server, path, app, pages, pages.protocolPage('end-session'))

  // Hidden, because it is for our own page and no part of the public API.
  route(server, `POST ${path}/answer`, {
    hidden: true,
    guard: [csrf.required, limits.logout],
    body: EndSessionBody,
    refuses: ['not_found', 'bad_request', 'invalid_csrf_token', 'cross_site', 'too_many_requests', 'unavailable'],
    answers: {
      200: withHeaders(EndSession, { 'Set-Cookie': 'With `done`: clears the cookies of the session', ...cacheHeader }),
    },
    config: { ownOriginOnly: true },
    handle: async ({ body: { parameters, confirmed = false }, request, reply }) => {
      const openid = await openidProvider.open()
      if (!openid) return refuse('not_found')
      const browserSessions = browserSessionsOf(app, request)
      const origin = clientOf(request)
      const logoutRequest = await readRequest(openid, parameters, origin)
      const answer = await endSession(app, logoutRequest, browserSessions, confirmed, () =>
        signOut(browserSessions, origin),
      )
      // A link of any site leads here, and must not empty the cache of a browser that has no session.
      if (answer.next === 'done' && browserSessions.length > 0) forgetInBrowser(reply, cookies)
      else if (answer.next === 'done') cookies.clearSession(reply)
      return answer
    },
  })
}
