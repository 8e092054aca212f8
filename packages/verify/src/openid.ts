import * as openid from 'openid-client'
import { type Answer, escapeHtml, pageAnswer, redirect } from './answers.js'
import { readText, reasonOf } from './bounded-fetch.js'
import { type AnyRequest, headerOf } from './cookies.js'
import { foreignFormMessage } from './end-session.js'
import { responseOf } from './fetch-responses.js'
import { createLogoutNotices, type LogoutNotices } from './logout-notices.js'
import type { NodeRequest } from './node.js'
import { type NodeResponse, sendAnswer } from './node-response.js'
import { type Attempt, createAttempts } from './openid-attempts.js'
import { type BrowserSessions, createBrowserSessions, type OpenidUser } from './openid-sessions.js'
import { type OpenidOptions, type OpenidSettings, readOpenidSettings } from './openid-settings.js'
import { pagePath } from './redirects.js'

export type { OpenidSession, OpenidSessions, OpenidUser } from './openid-sessions.js'
export type { OpenidOptions, OpenidPaths } from './openid-settings.js'

/** A request of `node:http` or of what is built on it. If a parser of forms came first, `body` is what it has read. */
export type OpenidNodeRequest = NodeRequest &
  AsyncIterable<unknown> & { readonly originalUrl?: string; readonly body?: unknown }

export type OpenidClient = {
  /** Answers the requests of its own paths: sign-in, callback, sign-out and logout notices. Undefined for any other request. */
  readonly handle: (request: Request) => Promise<Response | undefined>
  /** The same for `node:http` and Fastify. True if it has answered. */
  readonly handleNode: (request: OpenidNodeRequest, response: NodeResponse) => Promise<boolean>
  /** The same for Express: `app.use(client.middleware)`. */
  readonly middleware: (request: OpenidNodeRequest, response: NodeResponse, next: () => void) => Promise<void>
  /** The user of a request; undefined without a session. */
  readonly user: (request: AnyRequest) => Promise<OpenidUser | undefined>
  /** The path that begins a sign-in and leads back to `returnTo`, a path of your application. */
  readonly signInUrl: (returnTo?: string) => string
}

/** The parts of a request that are used here, of the Fetch standard and of Node alike. */
type Incoming = AnyRequest & {
  readonly method: string
  readonly target: URL
  readonly readForm: () => Promise<URLSearchParams>
}

/** The path travels in a cookie, so it must not be long. */
const longestReturnTo = 512
const longestForm = 16 * 1024

/** The provider cannot be asked at the moment. */
class IssuerAway extends Error {}

type Discover = () => Promise<openid.Configuration>

const createDiscovery = ({ issuer, clientId, clientSecret, fetch }: OpenidSettings): Discover => {
  const insecure = issuer.protocol === 'http:' ? { execute: [openid.allowInsecureRequests] } : {}
  const options = { ...insecure, timeout: 10, [openid.customFetch]: fetch as openid.CustomFetch }
  let known: Promise<openid.Configuration> | undefined
  return () => {
    known ??= openid.discovery(issuer, clientId, clientSecret, undefined, options).catch((error: unknown) => {
      known = undefined
      throw new IssuerAway(`the issuer cannot be asked: ${reasonOf(error)}`)
    })
    return known
  }
}

const isAway = (error: unknown) => {
  const { error: code, code: kind, cause } = Object(error)
  // `fetch` fails with a TypeError.
  const isUnreachable = error instanceof IssuerAway || error instanceof TypeError || kind === 'OAUTH_TIMEOUT'
  return isUnreachable || ['temporarily_unavailable', 'server_error'].includes(code) || Object(cause).status >= 500
}

/** What the address of the callback says is quoted and cut, because anyone can write it. */
const faultOf = (error: unknown) => {
  const { error: code, error_description: description } = Object(error)
  return typeof code === 'string' ? JSON.stringify([code, description]).slice(0, 300) : reasonOf(error)
}

const createSignInUrls = ({ ownOrigin, paths }: OpenidSettings) => {
  const ownPath = (wanted: string | null) => {
    const path = pagePath(wanted ?? '/', ownOrigin)
    return path.length <= longestReturnTo ? path : '/'
  }
  return {
    ownPath,
    signInUrl: (returnTo = '/') => `${paths.signIn}?returnTo=${encodeURIComponent(ownPath(returnTo))}`,
  }
}

/** The page about a sign-in that has failed. The reason is for the log. */
const createFailurePage =
  ({ onProblem }: OpenidSettings, signInUrl: (returnTo?: string) => string) =>
  (error: unknown, returnTo?: string): Answer => {
    onProblem(`a sign-in was not finished: ${faultOf(error)}`)
    const page = (status: number, title: string, text: string) => {
      const links = `<a href="${escapeHtml(signInUrl(returnTo))}">Try again</a> · <a href="/">Home</a>`
      return pageAnswer(status, title, `<p>${text}</p><p>${links}</p>`)
    }
    if (Object(error).error === 'access_denied')
      return page(403, 'No access', 'You have no access, or you have declined.')
    return isAway(error)
      ? page(503, 'Not signed in', 'Signing in is not possible at the moment. Please try again in a minute.')
      : page(400, 'Not signed in', 'The sign-in was not finished.')
  }

const textOf = (claim: unknown) => (typeof claim === 'string' && claim !== '' ? claim : undefined)

const userOf = (claims: openid.IDToken): OpenidUser => ({
  id: claims.sub,
  username: textOf(claims.preferred_username),
  name: textOf(claims.name),
  email: textOf(claims.email),
  emailVerified: claims.email_verified === true,
  groups: Array.isArray(claims.groups) ? claims.groups.filter((group) => typeof group === 'string') : [],
  claims,
})

type Parts = {
  settings: OpenidSettings
  discover: Discover
  browserSessions: BrowserSessions
  notices: LogoutNotices
}

const createSignIn = ({ settings, discover, browserSessions, notices }: Parts) => {
  const { redirectUrl, scope, clientSecret: secret, isSecure, now, sessions } = settings
  const attempts = createAttempts({ secret, isSecure, now })
  const { ownPath, signInUrl } = createSignInUrls(settings)
  const failurePage = createFailurePage(settings, signInUrl)

  const begin = async (request: Incoming): Promise<Answer> => {
    const returnTo = ownPath(request.target.searchParams.get('returnTo'))
    try {
      const issuer = await discover()
      const [state, nonce, verifier] = [openid.randomState(), openid.randomNonce(), openid.randomPKCECodeVerifier()]
      const setCookies = await attempts.begin({ state, nonce, verifier, returnTo }, headerOf(request, 'cookie'))
      const address = openid.buildAuthorizationUrl(issuer, {
        redirect_uri: redirectUrl.href,
        scope,
        state,
        nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
      return redirect(address.href, setCookies)
    } catch (error) {
      return failurePage(error, returnTo)
    }
  }

  /** Returns the `Set-Cookie` lines of the new session. */
  const redeem = async (request: Incoming, { state, nonce, verifier }: Attempt) => {
    // Behind a proxy the request may have another host, so the address is the registered one.
    const address = new URL(redirectUrl)
    address.search = request.target.search
    const hasEnded = notices.watch()
    const tokens = await openid.authorizationCodeGrant(await discover(), address, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    })
    const [claims, idToken] = [tokens.claims(), tokens.id_token]
    if (!claims || idToken === undefined) throw new Error('there is no ID token')
    const session = { user: userOf(claims), sid: textOf(claims.sid), idToken, issuedAt: claims.iat }
    const { id, setCookies } = await browserSessions.begin(request, session)
    if (!hasEnded(session)) return setCookies
    await sessions.delete(id)
    throw new Error('the session has ended meanwhile')
  }

  const finish = async (request: Incoming): Promise<Answer> => {
    const state = request.target.searchParams.get('state')
    const { attempt, setCookies } = await attempts.finish(state, headerOf(request, 'cookie'))
    try {
      if (!attempt) throw new Error('this browser has begun no such sign-in, or has finished it')
      return redirect(attempt.returnTo, [...setCookies, ...(await redeem(request, attempt))])
    } catch (error) {
      return { ...failurePage(error, attempt?.returnTo), setCookies }
    }
  }

  return { signInUrl, begin, finish }
}

const createSignOut =
  ({ settings: { ownOrigin, onProblem }, discover, browserSessions }: Parts) =>
  async (request: Incoming): Promise<Answer> => {
    const origin = headerOf(request, 'origin') ?? null
    // A page with the referrer policy `no-referrer` sends `null` as the origin of its own forms.
    if (origin !== ownOrigin && headerOf(request, 'sec-fetch-site') !== 'same-origin') {
      onProblem(foreignFormMessage(origin, ownOrigin))
      return pageAnswer(403, 'You are still signed in', '<p>This request does not come from a form of this site.</p>')
    }
    const session = await browserSessions.find(request)
    const setCookies = await browserSessions.end(request)
    const leaveTo = (location: string) => ({ ...redirect(location, setCookies), status: 303 })
    if (!session) return leaveTo('/')
    const issuer = await discover().catch((error: unknown) => onProblem(`signed out here only: ${reasonOf(error)}`))
    if (!issuer?.serverMetadata().end_session_endpoint) return leaveTo('/')
    const parameters = { id_token_hint: session.idToken, post_logout_redirect_uri: `${ownOrigin}/` }
    return leaveTo(openid.buildEndSessionUrl(issuer, parameters).href)
  }

/** What a parser of forms has read, or the body itself. */
const formOf = async (request: OpenidNodeRequest) => {
  const { body } = request
  if (typeof body === 'object' && body !== null && 'logout_token' in body)
    return new URLSearchParams({ logout_token: String(body.logout_token) })
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of request) {
    text += chunk instanceof Uint8Array ? decoder.decode(chunk, { stream: true }) : String(chunk)
    if (text.length > longestForm) throw new Error('the form is too long')
  }
  return new URLSearchParams(text)
}

const refuseMethod = (allow: string): Answer => {
  const page = pageAnswer(405, 'Not possible', '<p>This address does not take that method.</p>')
  return { ...page, headers: { ...page.headers, allow } }
}

/**
 * Signs users in at Latchkey, or at another provider of OpenID Connect, for an application with a server: the sign-in, the session, the
 * sign-out, and notices about sessions that have ended. It needs the package `openid-client`.
 */
export const openidClient = (options: OpenidOptions): OpenidClient => {
  const settings = readOpenidSettings(options)
  const { paths, redirectUrl, ownOrigin } = settings
  const discover = createDiscovery(settings)
  const getIssuer = async () => {
    const { issuer, jwks_uri: keysUrl = '' } = (await discover()).serverMetadata()
    return { issuer, keysUrl }
  }
  const notices = createLogoutNotices({ ...settings, getIssuer })
  const browserSessions = createBrowserSessions(settings)
  const parts = { settings, discover, browserSessions, notices }
  const signIn = createSignIn(parts)

  const routes = new Map<string, { method: string; act: (request: Incoming) => Promise<Answer> }>([
    [paths.signIn, { method: 'GET', act: signIn.begin }],
    [redirectUrl.pathname, { method: 'GET', act: signIn.finish }],
    [paths.signOut, { method: 'POST', act: createSignOut(parts) }],
    [paths.loggedOut, { method: 'POST', act: ({ readForm }) => notices.receive(readForm) }],
  ])
  const answer = async (request: Incoming): Promise<Answer | undefined> => {
    const route = routes.get(request.target.pathname)
    if (!route) return undefined
    if (route.method !== request.method) return refuseMethod(route.method)
    return route.act(request).catch((error: unknown) => {
      settings.onProblem(`${request.target.pathname} failed: ${reasonOf(error)}`)
      return pageAnswer(503, 'Not possible', '<p>This is not possible at the moment. Please try again in a minute.</p>')
    })
  }

  const handleNode: OpenidClient['handleNode'] = async (request, response) => {
    const { method = 'GET', url = '/', originalUrl: path = url, headers } = request
    const target = new URL(URL.canParse(path, ownOrigin) ? path : '/', ownOrigin)
    const answered = await answer({ method, target, headers, readForm: () => formOf(request) })
    if (answered) sendAnswer(response, answered)
    return answered !== undefined
  }

  return {
    signInUrl: signIn.signInUrl,
    user: async (request) => (await browserSessions.find(request))?.user,
    handle: async (request) => {
      const { method, url, headers } = request
      const readForm = async () => new URLSearchParams(await readText(request, longestForm))
      const answered = await answer({ method, target: new URL(url), headers, readForm })
      return answered && responseOf(answered)
    },
    handleNode,
    middleware: async (request, response, next) => {
      if (!(await handleNode(request, response))) next()
    },
  }
}
