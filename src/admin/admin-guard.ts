import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AccountChanges } from '../account-changes/account-changes.js'
import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { EventKind } from '../contract/events.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { RefusalCode } from '../contract/refusals.js'
import { reachingTwoFactors } from '../contract/second-factors.js'
import { hasSecondFactorSince, newProofLifetimeFor } from '../factors/freshness.js'
import type { Factors } from '../factors/second-factors.js'
import { limitHeaders, sendRefusal } from '../http/errors.js'
import { type RouteLimiters, sessionSubject } from '../http/limiters.js'
import { type CountedRequests, limitHook } from '../http/limits.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { guardHook, route } from '../http/route.js'
import type { Clock } from '../lib/clock.js'
import { hours, minutes } from '../lib/durations.js'
import { RecentMap } from '../lib/recent.js'
import { isUuid } from '../lib/uuid.js'
import type { Events } from '../messages/events.js'
import { cleanReason } from '../programs/service-callers.js'
import type { Administrator, Administrators } from '../sessions/administrators.js'
import type { Callers } from '../sessions/callers.js'
import type { Csrf } from '../sessions/csrf.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { Config } from '../settings/config.js'

/** How long the proof of a second factor lasts for administrators, also if they only read. */
const proofLifetime = 8 * hours

/** The refusals in front of every handler: those of the guard, of the schema, and of a store that is away. */
const adminReadRefusals = [
  'not_found',
  'cross_site',
  'fresh_sign_in_required',
  'too_many_requests',
  'bad_request',
  'unavailable',
] as const satisfies RefusalCode[]
/** Sends the answer of a path that does not exist. */
const sendNotFound = (reply: FastifyReply) => {
  for (const name of limitHeaders) reply.removeHeader(name)
  return sendRefusal(reply, refuse('not_found'))
}

/** What the guard of administrators needs. `openHttp` and the rooms give it. */
type Needed = {
  callers: Callers
  csrf: Csrf
  countedRequests: CountedRequests
  routeLimiters: RouteLimiters
  administrators: Administrators
  accountChanges: AccountChanges
  factors: Factors
  clock: Clock
  config: Config
}

/** Refuses if the second factor was not proven in the last `maxAge` milliseconds; else undefined. */
const refuseWithoutProof = async (
  { factors, clock, callers }: Needed,
  request: FastifyRequest,
  { proof }: Administrator,
  maxAge: number,
) => {
  if (hasSecondFactorSince(proof, clock.now(), maxAge)) return undefined
  const userMethods = await factors.proofsByUserId(callers.of(request).userId)
  const message = 'Administrators confirm with a second factor that it is them'
  return refuse('fresh_sign_in_required', { message, methods: reachingTwoFactors(userMethods ?? [], proof.methods) })
}

/**
 * Whether a page of another origin sent the request. Pages of ALLOWED_ORIGINS and of sibling hosts count, too, because their requests
 * carry the cookies.
 */
const isCrossOrigin = ({ headers }: FastifyRequest, publicUrl: string) => {
  const site = headers['sec-fetch-site']
  const isOtherSite = site !== undefined && site !== 'same-origin' && site !== 'none'
  return isOtherSite || (headers.origin !== undefined && headers.origin !== publicUrl)
}

/** Checks that the caller is an administrator, and remembers them with the request. */
const createAdmission = (needed: Needed) => {
  const { callers, administrators, accountChanges, config } = needed
  const administratorOfRequest = new WeakMap<FastifyRequest, Administrator & { neededGroups: readonly string[] }>()
  /** The groups of which one is enough for the role. */
  const groupsFor = (role: AdminRole, { admin, support }: Administrator['groups']) =>
    role === 'admin' || support === undefined ? [admin] : [admin, support]

  /** At its first use as an administrator, a session is marked in the list of sessions, and its owner gets a mail. */
  const markSession = (context: CallerContext) =>
    accountChanges.byCaller(context, 'admin_session_began', async (sql) => {
      const isFirst = await administrators.markSession(sql, context.caller.sessionId)
      return { changes: isFirst ? { admin_session_began: {} } : {} }
    })

  /** Returns a refusal, or undefined. The first request that is admitted marks the session as one of an administrator. */
  const admit = async (request: FastifyRequest, administrator: Administrator, neededRole: AdminRole) => {
    if (isCrossOrigin(request, config.publicUrl)) return refuse('cross_site')
    const refusal = await refuseWithoutProof(needed, request, administrator, proofLifetime)
    if (refusal) return refusal
    if (neededRole === 'admin' && administrator.role !== 'admin') return refuse('group_required')
    const beginning = administrator.isSessionMarked ? undefined : await markSession(callers.contextOf(request))
    return isRefused(beginning) ? beginning : undefined
  }

  return {
    requireRole: (neededRole: AdminRole) => {
      return guardHook({ adminRole: neededRole, byAccessToken: true }, adminReadRefusals, async (request, reply) => {
        const administrator = await administrators.find(callers.of(request))
        if (!administrator) return sendNotFound(reply)
        request.administratorId = callers.of(request).userId
        const refusal = await admit(request, administrator, neededRole)
        if (refusal) return sendRefusal(reply, refusal)
        administratorOfRequest.set(request, {
          ...administrator,
          neededGroups: groupsFor(neededRole, administrator.groups),
        })
        return undefined
      })
    },
    administratorOf: (request: FastifyRequest) => {
      const administrator = administratorOfRequest.get(request)
      if (!administrator) throw new Error('A handler asked for its administrator without the guard')
      return administrator
    },
  }
}

export type AdminGuard = ReturnType<typeof createAdminGuard>

/**
 * The limit of administrators, behind a hook that has found a caller. A page that follows events sends more requests than the general
 * limit allows.
 */
const limitAdministrators = ({ countedRequests, routeLimiters, callers }: Needed) => {
  const limiter = routeLimiters.administrators
  return limitHook({ names: [limiter.name], code: limiter.code }, (request, reply) =>
    countedRequests.count(limiter, sessionSubject(callers.of(request).sessionId), request, reply),
  )
}

/** Registers a route of administrators, with one of the guards below. */
export const adminRoute: typeof route = (server, address, options) =>
  route(server, address, { ...options, preValidation: cleanReason, config: { ownOriginOnly: true } })

/** The guards that ask how old the second factor is. */
const createProofGuards = (needed: Needed, administratorOf: (request: FastifyRequest) => Administrator) => {
  const { config, clock, administrators } = needed
  const refuseWithoutNewProof = (request: FastifyRequest) =>
    refuseWithoutProof(needed, request, administratorOf(request), newProofLifetimeFor(config.freshFor))

  const requireNewProof = guardHook({}, ['fresh_sign_in_required', 'group_required'], async (request, reply) => {
    const refusal = await refuseWithoutNewProof(request)
    return refusal && sendRefusal(reply, refusal)
  })

  const isAboutAdministrator = async ({ params }: FastifyRequest) => {
    const { id } = params as { id?: string }
    return id !== undefined && isUuid(id) && (await administrators.isAdministering(id))
  }

  /** Accounts of administrators and of support need the proof that applications need: whoever is put out of the group is told no more. */
  const requireFreshProof = guardHook({}, ['fresh_sign_in_required'], async (request, reply) => {
    const administrator = administratorOf(request)
    const isNew = hasSecondFactorSince(administrator.proof, clock.now(), newProofLifetimeFor(config.freshFor))
    const needsNewProof = !isNew && (await isAboutAdministrator(request))
    const refusal = needsNewProof
      ? await refuseWithoutNewProof(request)
      : await refuseWithoutProof(needed, request, administrator, config.freshFor)
    return refusal && sendRefusal(reply, refusal)
  })

  return { refuseWithoutNewProof, requireNewProof, requireFreshProof }
}

/**
 * The guards of the routes of administrators. Callers who are neither administrators nor support get the answer of a path that does not
 * exist.
 */
export const createAdminGuard = (needed: Needed) => {
  const { callers, csrf, config } = needed
  const admission = createAdmission(needed)
  const limit = limitAdministrators(needed)
  const { administratorOf } = admission
  const { refuseWithoutNewProof, requireNewProof, requireFreshProof } = createProofGuards(needed, administratorOf)

  const requireSession = guardHook({}, ['not_found'], async (request, reply) =>
    callers.find(request) ? undefined : sendNotFound(reply),
  )

  const requireApplicationsOn = guardHook({}, ['applications_off'], async (_, reply) =>
    config.adminApplications === 'on' ? undefined : sendRefusal(reply, refuse('applications_off')),
  )

  const refuseOwnAccount = guardHook(
    {},
    ['group_required', 'administrators_account', 'own_account'],
    async (request, reply) => {
      const { id } = request.params as { id?: string }
      return id === callers.of(request).userId ? sendRefusal(reply, refuse('own_account')) : undefined
    },
  )

  const readHooks = (neededRole: AdminRole) => [requireSession, limit, admission.requireRole(neededRole)]
  const changeHooks = (neededRole: AdminRole) => [
    ...readHooks(neededRole),
    csrf.required,
    requireFreshProof,
    refuseOwnAccount,
  ]

  return {
    /** Administrators and support read everything. */
    read: readHooks('support'),
    /** The same with a POST, so that names and addresses are in the body and not in a URL, which logs of proxies have. */
    search: [...readHooks('support'), csrf.required],
    /** A change by which administrators and support help users. */
    changeBySupport: changeHooks('support'),
    /** A change of what users may do, by administrators only. */
    changeByAdmin: changeHooks('admin'),
    /** A change of who may use an application, by administrators who have just proven their second factor. */
    changeAccess: [...readHooks('admin'), csrf.required, requireNewProof],
    /** The same for everything else of applications and settings. ADMIN_APPLICATIONS switches it off. */
    changeConfiguration: [...readHooks('admin'), csrf.required, requireApplicationsOn, requireNewProof],
    administratorOf,
    /** For handlers that find out only later whether a new proof is needed. */
    refuseWithoutNewProof,
    /** The client with the administrator as its actor and the reason: every event of the change has both. */
    actingClient: (request: FastifyRequest, reason?: string): Client => {
      const { role, neededGroups, groups: byRole } = administratorOf(request)
      const { userId, sessionId } = callers.of(request)
      // An administrator who has become support meanwhile must not do what only administrators do.
      const groups = role === 'admin' ? [byRole.admin] : neededGroups
      const protectedGroups = role === 'support' ? [byRole.admin] : []
      return { ...clientOf(request), actor: { userId, sessionId, role, groups, reason, protectedGroups } }
    },
  }
}

type Reading = {
  kind: Extract<EventKind, 'user_viewed' | 'users_searched' | 'events_searched'>
  userId?: string | undefined
  /** The names of the filters. What is searched for may be the address of someone who has no account. */
  filters?: Readonly<Record<string, string | undefined>>
}

/** Who looks at the same again in this time leaves no further event: a screen that follows events asks every five seconds. */
const window = 15 * minutes
const maxRemembered = 10_000

export type ReadingTrail = ReturnType<typeof createReadingTrail>

/**
 * Records who has looked at what. If the event cannot be written, the request fails: administrators read nothing without a trace. Every page
 * of a list counts, because anyone can make up a cursor and begin with another page than the first.
 */
export const createReadingTrail = (adminGuard: AdminGuard, events: Events, clock: Clock) => {
  // A reading that was forgotten leaves a second event. None is left out.
  const recordedUntil = new RecentMap<string, number>(maxRemembered)

  return async (request: FastifyRequest, { kind, userId, filters = {} }: Reading) => {
    const client = adminGuard.actingClient(request)
    const usedFilters = Object.keys(filters).filter((name) => filters[name])
    const reason = usedFilters.length > 0 ? usedFilters.sort().join(' ') : undefined
    const reading = [client.actor?.userId, kind, userId, reason].join(' ')
    const now = clock.now().getTime()
    if ((recordedUntil.get(reading) ?? 0) > now) return
    await events.recordReading({ kind, ...(userId && { userId }), ...(reason && { reason }) }, client)
    recordedUntil.set(reading, now + window)
  }
}
