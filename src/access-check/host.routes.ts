import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProtectedApplication, ProtectedApplications } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Cookies } from '../http/cookies.js'
import { createIsProxy } from '../http/errors.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { days, seconds } from '../lib/durations.js'
import type { Callers } from '../sessions/callers.js'
import type { Limits } from '../sessions/guards.js'
import { readOrigin } from './asked-request.js'
import { entryRefusal } from './entry.js'
import {
  attemptCookie,
  beginSignIn,
  callbackAddress,
  callbackPath,
  failureTimeIn,
  failureTimeNow,
  hostSignInPath,
  isSecondFailure,
  pageOf,
  readSignIn,
  sessionCookie,
  signInPathOf,
  signOutPath,
  startAddress,
  startPath,
} from './host-addresses.js'
import type { HostSessions } from './host-sessions.js'
import { countReturn } from './return-counts.js'

export type HostParts = {
  callers: Callers
  cookies: Cookies
  protectedApplications: Pick<ProtectedApplications, 'find'>
  hostSessions: HostSessions
  limits: Limits
  config: { publicUrl: string; afterSignIn: string; trustProxy: readonly string[] | undefined }
  clock: Clock
}

/** Pages at hosts of applications, where no other file of ours can be loaded. With `next`, one offers to begin again there. */
type SendHostPage = (request: FastifyRequest, reply: FastifyReply, next: string | undefined) => FastifyReply

/** Ends a session here, as a sign-out of its browser does. */
type SignOut = (session: { userId: string; sessionId: string }, client: Client) => Promise<void>

type Outside = { sendHostPage: SendHostPage; signOut: SignOut }

type Visit = { application: ProtectedApplication; path: string; query: string }

const signOutPage = '/api/auth/end-session'

/** In seconds, as in the table of cookies. What has ended before is refused. */
const longestCookie = (30 * days) / seconds

/** So often a browser may be led to the same address within ten seconds: a restored window has many tabs. */
const maxVisits = 20

/** Whether the answer becomes the page of a window. A prefetch and a frame change nothing. */
const isPage = ({ headers, method }: FastifyRequest) =>
  (method === 'GET' || method === 'HEAD') &&
  (headers['sec-fetch-dest'] ?? 'document') === 'document' &&
  headers['sec-purpose'] === undefined

/** What the cookie of a host says. */
const createReading = ({ hostSessions, clock }: HostParts) => {
  /** The session of the host's own cookie. */
  const sessionOf = (request: FastifyRequest, application: ProtectedApplication) => {
    const isEnough = (claims: AccessClaims) => entryRefusal(application, claims, clock.now()) === undefined
    return hostSessions.find(sessionCookie.read(request.headers.cookie), application, isEnough)
  }

  const others = (request: FastifyRequest, application: ProtectedApplication) =>
    hostSessions.ofOtherPorts(sessionCookie.read(request.headers.cookie), application)

  return { sessionOf, others }
}

/** The answers at `/.latchkey/` of a protected host. Where our own cookies arrive, only the sign-out is there. */
const createHostAnswers = (parts: HostParts, { sendHostPage, signOut }: Outside) => {
  const { hostSessions, clock } = parts
  const { publicUrl } = parts.config

  const { sessionOf, others } = createReading(parts)

  /** Leads to the sign-in on our host, which leads back. */
  const begin = (request: FastifyRequest, reply: FastifyReply, returnTo: string, failedAt?: number) => {
    const { location, cookie } = beginSignIn(publicUrl, attemptCookie.read(request.headers.cookie), returnTo, failedAt)
    return reply.header('Set-Cookie', cookie).redirect(location, 302)
  }

  const start = (request: FastifyRequest, reply: FastifyReply, { application, query }: Visit) => {
    const asked = new URLSearchParams(query)
    return begin(request, reply, pageOf(application.proxyOrigin, asked.get('to')), failureTimeIn(asked.get('again')))
  }

  const callback = async (request: FastifyRequest, reply: FastifyReply, { application, query }: Visit) => {
    const { proxyOrigin: origin } = application
    const asked = new URLSearchParams(query)
    const attempt = attemptCookie.read(request.headers.cookie)
    const used = await hostSessions.codes.use(
      application,
      asked.get('code') ?? '',
      attempt.isNew ? undefined : attempt.verifier,
    )
    const returnTo = pageOf(origin, used?.returnTo)
    if (used?.cookie) {
      const { value, maxAge } = used.cookie
      return reply
        .header('Set-Cookie', [
          sessionCookie.line([value, ...others(request, application)], maxAge),
          attemptCookie.clear(),
        ])
        .redirect(returnTo, 302)
    }
    // Another tab has arrived first.
    const session = await sessionOf(request, application)
    if (session && !entryRefusal(application, session.claims, clock.now())) return reply.redirect(returnTo, 302)
    const now = clock.now()
    const failedAt = failureTimeNow(now)
    const isSecond = isSecondFailure([attempt.failedAt, failureTimeIn(asked.get('again'))], now)
    // Several tabs began at once, and one of them has set the cookie last.
    if (!isSecond && used?.isOfOtherAttempt && !attempt.isNew) return begin(request, reply, returnTo, failedAt)
    reply.header('Set-Cookie', attemptCookie.line({ verifier: attempt.verifier, failedAt }))
    return sendHostPage(request, reply, isSecond ? undefined : startAddress(origin, returnTo, failedAt))
  }

  /** Only a page of the application itself ends the session at once. For a link elsewhere our own page asks. */
  const leave = async (request: FastifyRequest, reply: FastifyReply, { application }: Visit) => {
    // There the session is that of our own host, which our page asks about.
    if (!application.hasOwnCookie) return reply.redirect(`${publicUrl}${signOutPage}`, 302)
    const session = await sessionOf(request, application)
    const isOwnPage = request.headers['sec-fetch-site'] === 'same-origin'
    if (session) await hostSessions.end(session)
    if (session && isOwnPage) await signOut({ userId: session.userId, sessionId: session.sid }, clientOf(request))
    const kept = others(request, application)
    reply.header('Set-Cookie', [sessionCookie.line(kept, kept.length > 0 ? longestCookie : 0), attemptCookie.clear()])
    const page = session && isOwnPage ? '/login?notice=signed_out' : signOutPage
    return reply.redirect(`${publicUrl}${page}`, 302)
  }

  type Answer = (request: FastifyRequest, reply: FastifyReply, visit: Visit) => unknown
  const answers = new Map<string, Answer>([
    [startPath, start],
    [callbackPath, callback],
    [signOutPath, leave],
  ])

  return {
    begin,
    sessionOf,
    answer: async (request: FastifyRequest, reply: FastifyReply, visit: Visit) => {
      const answer = isPage(request) ? answers.get(visit.path) : undefined
      if (!answer || !(visit.application.hasOwnCookie || visit.path === signOutPath)) return refuse('not_found')
      await answer(request, reply, visit)
      return reply
    },
  }
}

/** Our own page between the two hosts: a session here gives a code for that host, if its application may be entered. */
const hostSignInRoute = (server: Server, parts: HostParts, sendHostPage: SendHostPage) => {
  const { callers, cookies, protectedApplications, hostSessions, limits, clock } = parts
  const { publicUrl, afterSignIn } = parts.config

  type Asked = NonNullable<ReturnType<typeof readSignIn>> & { challenge: string }

  /** A code for the caller, or the page that helps to get one. */
  const codeFor = async (request: FastifyRequest, { application, challenge, returnTo }: Asked) => {
    const holder = callers.holderOf(request)
    const claims = callers.claimsOf(request)
    if (!holder || !claims) return { page: '/login' }
    const refusal = entryRefusal(application, claims, clock.now())
    if (refusal) return { page: refusal.page }
    const offer = { host: application, challenge, returnTo }
    const offered = await hostSessions.codes.offer(holder, offer, clientOf(request))
    if (!isRefused(offered)) return offered
    return { page: offered.refused === 'group_required' ? '/step-up?group=1' : '/login' }
  }

  // A navigation from another site brings no Strict cookie. Then the sign-in page finds the session, and comes back here.
  route(server, `GET ${hostSignInPath}`, {
    hidden: true,
    guard: [limits.bySessionOrNetwork],
    refuses: ['unavailable', 'bad_request'],
    answers: {},
    config: { ownOriginOnly: true },
    exposeHeadRoute: false,
    handle: async ({ request, reply }) => {
      if (!isPage(request)) return refuse('bad_request')
      const asked = readSignIn(request.query as Record<string, unknown>, protectedApplications)
      if (!asked) return reply.redirect(afterSignIn)
      const { challenge, returnTo, failedAt, application } = asked
      if (challenge === undefined) return reply.redirect(startAddress(application.proxyOrigin, returnTo))
      const { same, kept } = countReturn(cookies.read(request, 'attempt_returns'), returnTo)
      cookies.set(reply, 'attempt_returns', kept)
      if (same > maxVisits) return sendHostPage(request, reply, undefined)
      const found = await codeFor(request, { ...asked, challenge })
      if ('code' in found) return reply.redirect(callbackAddress(application.proxyOrigin, found.code, failedAt))
      const here = encodeURIComponent(signInPathOf({ challenge, returnTo, failedAt }))
      return reply.redirect(`${publicUrl}${found.page}${found.page.includes('?') ? '&' : '?'}returnTo=${here}`)
    },
  })
}

/** Hosts that get none of our cookies: what their visitors find below `/.latchkey/`, and our own page between the two hosts. */
export const hostRoutes = (server: Server, parts: HostParts, outside: Outside) => {
  const { protectedApplications, config } = parts
  const isProxy = createIsProxy(config.trustProxy)
  const answers = createHostAnswers(parts, outside)
  hostSignInRoute(server, parts, outside.sendHostPage)

  // A proxy whose check passes no answer on leads these addresses here.
  for (const path of [startPath, callbackPath, signOutPath])
    route(server, `GET ${path as `/${string}`}`, {
      hidden: true,
      guard: [],
      refuses: ['not_found', 'unavailable'],
      answers: {},
      config: {
        unlimited: 'Values that were not made here cost no query',
        isAccessCheck: true,
        answersProxies: true,
      },
      handle: async ({ request, reply }) => {
        const origin = isProxy(request.socket.remoteAddress) ? readOrigin(request.raw.rawHeaders) : undefined
        const application = origin === undefined ? undefined : protectedApplications.find(origin)
        if (!application) return refuse('not_found')
        const { url = '' } = request.raw
        const at = url.indexOf('?')
        return answers.answer(request, reply, { application, path, query: at === -1 ? '' : url.slice(at) })
      },
    })

  return answers
}
