import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ProtectedApplication, ProtectedApplications } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { createIsProxy } from '../http/errors.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'
import { guardHook, route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createOncePerWindow } from '../lib/recent.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import type { Callers } from '../sessions/callers.js'
import { type AskedRequest, readAskedRequest, sentenceOf, wayBackTo } from './asked-request.js'
import { entryRefusal, isForOther, isOpen } from './entry.js'
import type { FirstUses } from './first-uses.js'
import { isOurPath, startAddress } from './host-addresses.js'
import { identityOf } from './identity-headers.js'
import { challengeOf, createResourceVisitors, type ResourceParts, signedTokenAmong } from './resource-visitors.js'
import { asksForToken, authorizationsIn, createTokenVisitors, type TokenParts, tokenAmong } from './token-visitors.js'
import {
  cookiesForApplication,
  forwardedIdentity,
  isForeignPart,
  isIdentityHeader,
  isNavigation,
  nobody,
} from './visitor-headers.js'

export type ForwardParts = ResourceParts & {
  callers: Callers
  cookies: Cookies
  protectedApplications: Pick<ProtectedApplications, 'find'>
  knownTokens: TokenParts['knownTokens']
  firstUses: Pick<FirstUses, 'note'>
  config: TokenParts['config'] & { publicUrl: string; production: boolean; trustProxy: readonly string[] | undefined }
  clock: Clock
  log: { info: (details: object, message: string) => void; warn: (details: object, message: string) => void }
  metrics: ({ countRefusedCheck: Metrics['countRefusedCheck'] } & TokenParts['metrics']) | undefined
}

/** What hosts that get none of our cookies need (`host.routes`). */
export type HostAnswers = {
  begin(request: FastifyRequest, reply: FastifyReply, returnTo: string): FastifyReply
  sessionOf(request: FastifyRequest, application: ProtectedApplication): Promise<{ claims: AccessClaims } | undefined>
  answer(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: { application: ProtectedApplication; path: string; query: string },
  ): Promise<FastifyReply | Refused<'not_found'>>
}

type Refusal = Refused<
  'not_authenticated' | 'group_required' | 'step_up_required' | 'token_refused' | 'too_many_requests'
>

const description =
  'For `forward_auth` of Caddy, `forwardAuth` of Traefik, `auth_request` of nginx and the Lua file for HAProxy. What the visitor asked is read from `X-Forwarded-Method`, `-Proto`, `-Host` and `-Uri`, or from `X-Original-Method` and `-URL`, of an address in `TRUST_PROXY` only.'

const pageInLocation = {
  'WWW-Authenticate': 'At an address of a resource: where a program can get a token for it, and for what',
  Location: 'For a navigation that nginx asks about: the page that helps, with the way back',
}

const hostCookie = { 'Set-Cookie': 'At a host that gets none of our cookies: its own' }

const answers = {
  200: withHeaders(NoContent, {
    ...Object.fromEntries(forwardedIdentity.map((name) => [name, 'Who the user is; empty if it is not known'])),
    Cookie: 'What the visitor sent, without the cookies of Latchkey',
    Authorization: 'What the visitor sent, without a token of Latchkey',
  }),
  302: withHeaders(NoContent, {
    Location: 'For a navigation: the page that helps, with the way back',
    ...hostCookie,
  }),
}

const refusedHere = [
  'bad_request',
  'not_authenticated',
  'group_required',
  'step_up_required',
  'token_refused',
  'not_protected',
  'not_found',
  'too_many_requests',
  'unavailable',
] as const

const logWindow = 1 * minutes
const maxReasons = 100

/** `challenge`: what a program without a token, or with a wrong one, is told about the resource that it asks for. */
type ShownRefusal = Refusal & { page?: string; retryAfter?: number; challenge?: string | undefined }

/** The answer in words, for what is no person in front of a page. */
const answerProgram = (reply: FastifyReply, asked: AskedRequest, refusal: ShownRefusal, realm: string | undefined) => {
  // nginx knows no other status than these in the answer of a check.
  const isUnknownToNginx = asked.isByNginx && refusal.refused === 'too_many_requests'
  const shown = isUnknownToNginx ? { ...refusal, refused: 'not_authenticated' as const } : refusal
  // One line: of several, nginx passes on the first.
  const usual = realm === undefined ? 'Bearer' : `Basic realm="${realm}", Bearer`
  const challenge = refusal.challenge ?? (shown.refused === 'not_authenticated' ? usual : undefined)
  if (challenge !== undefined) reply.header('WWW-Authenticate', challenge)
  return shown
}

/** The answer for the visitor: a page for a person, and words for a program. */
const createAnswers = ({ config: { publicUrl }, cookies, callers }: ForwardParts, hosts: HostAnswers) => {
  /** A page of ours that leads back to what was asked for. */
  const pageFor = (path: string, asked: AskedRequest) =>
    `${publicUrl}${path}${path.includes('?') ? '&' : '?'}returnTo=${encodeURIComponent(wayBackTo(asked))}`

  /** A token that is good may be renewed without a page. */
  const pathFor = (refusal: ShownRefusal, request: FastifyRequest) => {
    if (refusal.page !== undefined) return refusal.page
    const isRenewable = !cookies.hasDoubledSessionCookie(request) && callers.refreshableTokenOf(request) !== undefined
    return isRenewable ? '/api/auth/renew' : '/login'
  }

  return (
    request: FastifyRequest,
    reply: FastifyReply,
    { asked, hasOwnCookie, realm }: { asked: AskedRequest; hasOwnCookie: boolean; realm: string | undefined },
    refusal: ShownRefusal,
  ) => {
    if (!isNavigation(asked, request.headers)) return answerProgram(reply, asked, refusal, realm)
    if (hasOwnCookie && !asked.isByNginx) return hosts.begin(request, reply, wayBackTo(asked))
    const page = hasOwnCookie ? startAddress(asked.origin, wayBackTo(asked)) : pageFor(pathFor(refusal, request), asked)
    reply.header('Location', page)
    // nginx knows no redirect in the answer of a check. Two lines of its file make one of this.
    if (asked.isByNginx) return refusal
    return reply.status(302).send()
  }
}

const ownQueryOf = (url: string) => {
  const at = url.search(/[?#]/)
  return at === -1 ? '' : url.slice(at)
}

/** A proxy that announces a body and sends none would give the beginning of the next check for it. */
const closesAfterBody = guardHook({}, [], async ({ headers }, reply) => {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  if (length !== '0' || encoding !== undefined) reply.header('connection', 'close')
})

/** What becomes of a check whose application is known. */
const createSteps = ({ callers, firstUses, config: { production } }: ForwardParts, hosts: HostAnswers) => {
  /** What is sent to the application has neither our cookies nor a token of ours. */
  const admit = (request: FastifyRequest, reply: FastifyReply, identity: readonly string[], isSigned = false) => {
    for (const [index, name] of forwardedIdentity.entries()) reply.header(name, identity[index] ?? '')
    reply.header('Cookie', cookiesForApplication(request.headers.cookie ?? '', production))
    const isOurs = isSigned || tokenAmong(authorizationsIn(request.raw.rawHeaders)) !== undefined
    reply.header('Authorization', isOurs ? '' : (request.headers.authorization ?? ''))
    return reply.status(200).send()
  }

  return {
    admit,

    admitUser: (
      request: FastifyRequest,
      reply: FastifyReply,
      application: ProtectedApplication,
      claims: AccessClaims,
    ) => {
      // A host with a cookie of its own has the event from when it got the cookie.
      if (!application.hasOwnCookie) firstUses.note(application, claims, clientOf(request))
      return admit(request, reply, [...identityOf(claims), ''])
    },

    /** A host that gets none of our cookies has one of its own, and no other counts there. */
    claimsOf: async (request: FastifyRequest, application: ProtectedApplication) => {
      if (application.hasOwnCookie) return (await hosts.sessionOf(request, application))?.claims
      const judged = callers.judge(request)
      return isRefused(judged) ? undefined : judged
    },

    answerAtHost: async (
      request: FastifyRequest,
      reply: FastifyReply,
      application: ProtectedApplication,
      { method, path, query, isByNginx }: AskedRequest,
    ) =>
      isByNginx || !(method === 'GET' || method === 'HEAD')
        ? refuse('not_found')
        : hosts.answer(request, reply, { application, path, query }),
  }
}

/** Judges a visitor of a protected application: by a token if there is one, and otherwise by the session. */
const createVisit = (
  parts: ForwardParts,
  hosts: HostAnswers,
  { admit, admitUser, claimsOf }: ReturnType<typeof createSteps>,
) => {
  const { clock, metrics } = parts
  const answerVisitor = createAnswers(parts, hosts)
  const tokenVisitors = createTokenVisitors(parts)
  const resourceVisitors = createResourceVisitors(parts)

  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    application: ProtectedApplication,
    asked: AskedRequest,
  ) => {
    const { raw, headers } = request
    const { hasOwnCookie } = application
    const authorizations = authorizationsIn(raw.rawHeaders)
    const resource = resourceVisitors.resourceAt(asked.origin, asked.path)
    const signed = resourceVisitors.isFor(asked.origin) ? signedTokenAmong(authorizations) : undefined
    if (isOpen(application, asked, headers)) return admit(request, reply, nobody, signed !== undefined)
    if (signed !== undefined) {
      const entered = await resourceVisitors.judge(application, resource, signed)
      if (isRefused(entered)) return answerProgram(reply, asked, entered, undefined)
      return admit(request, reply, entered.identity, true)
    }
    const realmOfQuestion = () => (asksForToken(application, headers, tokenVisitors.isOn) ? asked.origin : undefined)
    const token = tokenAmong(authorizations)
    if (token) {
      const visitor = { headers, network: clientNetwork(request) }
      const entered = await tokenVisitors.judge(application, token, visitor)
      if (isRefused(entered)) return answerProgram(reply, asked, entered, realmOfQuestion())
      return admit(request, reply, entered.identity)
    }
    const claims = isForeignPart(headers) ? undefined : await claimsOf(request, application)
    const refusal = claims ? entryRefusal(application, claims, clock.now()) : refuse('not_authenticated')
    if (claims && !refusal) return admitUser(request, reply, application, claims)
    if (!refusal) throw new Error('A visitor was neither admitted nor refused')
    if (claims && refusal.refused !== 'not_authenticated') metrics?.countRefusedCheck(refusal.refused)
    // A token that is none of ours is a wrong one here, if the session does not help.
    const hasBearer = authorizations.some((each) => /^Bearer /i.test(each))
    const isAsked = resource !== undefined && refusal.refused === 'not_authenticated'
    const shown = isAsked
      ? { ...refusal, challenge: challengeOf(resource, hasBearer ? 'invalid_token' : undefined) }
      : refusal
    return answerVisitor(request, reply, { asked, hasOwnCookie, realm: realmOfQuestion() }, shown)
  }
}

export const forwardRoutes = (server: Server, parts: ForwardParts, hosts: HostAnswers) => {
  const { protectedApplications, clock, log } = parts
  const { trustProxy } = parts.config
  const isProxy = createIsProxy(trustProxy)
  const isFirstOfReason = createOncePerWindow({ maxKeys: maxReasons, clock })
  const isFirstOfAddress = createOncePerWindow({ maxKeys: maxReasons, clock })
  const steps = createSteps(parts, hosts)
  const { answerAtHost } = steps
  const judgeVisitor = createVisit(parts, hosts, steps)

  const warnOnce = (reason: string, details: object, message: string) => {
    if (isFirstOfReason(reason, logWindow)) log.warn(details, message)
  }

  const refuseOdd = (request: FastifyRequest, reason: string, sentence: string) => {
    warnOnce(reason, { requestId: request.id, reason: sentence }, 'a check of a proxy was not understood')
    return refuse('bad_request')
  }

  route(server, 'GET /api/auth/forward', {
    guard: [closesAfterBody],
    tag: 'who am I',
    summary: 'The access check in one line of a proxy: 200 with X-Auth-… headers, or an answer for the visitor',
    description,
    // The query may be that of the visitor, and is compared with it.
    validatorCompiler: () => () => true,
    security: [{ accessToken: [] }],
    refuses: refusedHere,
    refusalHeaders: { 400: hostCookie, 401: pageInLocation, 403: pageInLocation },
    answers,
    config: {
      quiet: true,
      countsIn: ['token_failures'],
      isAccessCheck: true,
      answersProxies: true,
    },
    handle: async ({ request, reply }) => {
      const { socket, raw, headers } = request
      if (!isProxy(socket.remoteAddress)) {
        const sentence = `it came from ${socket.remoteAddress}, which is not in TRUST_PROXY`
        return refuseOdd(request, 'address', sentence)
      }
      const asked = readAskedRequest(raw.rawHeaders, ownQueryOf(raw.url ?? ''), isIdentityHeader)
      if ('fault' in asked) return refuseOdd(request, asked.fault, sentenceOf(asked))
      if (isForOther(asked, headers.host, protectedApplications)) {
        const sentence = sentenceOf({ fault: 'host', header: 'the proxy', value: asked.origin })
        return refuseOdd(request, 'host', sentence)
      }
      const application = protectedApplications.find(asked.origin)
      if (!application) {
        const hint = 'nobody has registered this address: latchkey application add NAME --proxy ADDRESS'
        // Each address by itself: many hosts may be asked for, and one of them was forgotten.
        if (isFirstOfAddress(asked.origin, logWindow)) log.warn({ requestId: request.id, address: asked.origin }, hint)
        return refuse('not_protected')
      }
      if (isOurPath(asked.path)) {
        // nginx hands no answer of a check on, so its file leads these addresses here.
        const hint = 'lead /.latchkey/ of this host to Latchkey: this proxy hands no answer of a check on'
        if (asked.isByNginx) warnOnce('own path', { requestId: request.id, address: asked.origin }, hint)
        return answerAtHost(request, reply, application, asked)
      }
      return judgeVisitor(request, reply, application, asked)
    },
  })
}
