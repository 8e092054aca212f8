import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, refuse } from '../contract/outcome.js'
import type { ServiceScope } from '../contract/service.js'
import { sendRefusal } from '../http/errors.js'
import { type Actor, type Client, clientOf, customerNetwork } from '../http/request-origin.js'
import { guardHook } from '../http/route.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createOncePerWindow } from '../lib/recent.js'
import type { Events } from '../messages/events.js'
import type { Limits } from '../sessions/guards.js'
import { displayName } from '../users/names.js'
import type { ServiceKeys } from './service-keys.js'

/**
 * Whether the path has characters that no address of ours needs. A proxy may read them in another way, and take the path for one that
 * it passes on.
 */
const isOddPath = ({ url }: FastifyRequest) => /[%.;\\]/.test(url.replace(/\?.*$/s, ''))

/**
 * The refusals of a route for other programs. The guard itself gives all of them but `bad_request`, which is for a query that is not
 * understood.
 */
const serviceRefusals = [
  'bad_request',
  'not_authenticated',
  'cross_site',
  'scope_required',
  'not_found',
  'too_many_requests',
  'too_many_logins',
  'unavailable',
] as const

/** Requests on which the checks of other programs rely have limiters of their own. */
const limiterFor = (scope: ServiceScope) => limitersOfScopes[scope] ?? 'service'
const limitersOfScopes: { readonly [Scope in ServiceScope]?: 'service_revocations' | 'service_tokens' } = {
  'revocations:read': 'service_revocations',
  'tokens:read': 'service_tokens',
}

const bearer = /^Bearer +(\S+)$/i

/** A program with an expired key tries again and again, but causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** RFC 6750, 3.1. */
const sendMissingScope = (reply: FastifyReply, scope: ServiceScope) => {
  const challenge = `Bearer error="insufficient_scope", scope="${scope}"`
  const message = `This needs a service key with the scope ${scope}`
  return sendRefusal(reply.header('WWW-Authenticate', challenge), refuse('scope_required', { message }))
}

type Acting = { reason?: string | undefined; protectedGroups?: Actor['protectedGroups'] }

/**
 * The client with the service key as its actor and the reason: every event of the change has both. A key cannot change administrators:
 * otherwise a stolen key could lock out those who can stop it.
 */
const actingClient = (request: FastifyRequest, options: Acting = {}): Client => {
  if (!request.serviceKey) throw new Error('A handler asked for its service key without the guard')
  const { name } = request.serviceKey
  const { reason, protectedGroups = 'all' } = options
  return {
    ...clientOf(request),
    userAgent: `service key ${name}`,
    actor: { serviceKey: name, protectedGroups, reason },
  }
}

/** Finds out which program calls, by the key in the Authorization header. Cookies mean nothing on these routes. */
export const createServiceCallers = ({
  serviceKeys,
  limits,
  events,
  clock,
}: {
  serviceKeys: ServiceKeys
  limits: Limits
  events: Events
  clock: Clock
}) => {
  const isNewReport = createOncePerWindow({ maxKeys: maxReported, clock })

  /** A missing, wrong or expired key. A wrong one counts as a failed sign-in of its network. */
  const refuseKey = async (reason: string | undefined, request: FastifyRequest, reply: FastifyReply) => {
    if (reason !== undefined) {
      if (isNewReport(`${customerNetwork(request)} ${reason}`, reportWindow))
        await events.record({ kind: 'service_key_refused', reason }, clientOf(request))
      await limits.login(request, reply)
    }
    if (reply.sent) return reply
    return sendRefusal(reply.header('WWW-Authenticate', 'Bearer'), refuse('not_authenticated'))
  }

  const guardFor = (scope: ServiceScope) =>
    guardHook(
      { serviceScope: scope, limiters: [limiterFor(scope), 'login'] },
      serviceRefusals,
      async (request, reply) => {
        if (isOddPath(request)) return sendRefusal(reply, refuse('not_found'))
        // Two such headers count as none, as with cookies.
        const [authorization = '', ...furtherHeaders] = request.raw.headersDistinct.authorization ?? []
        const [, key] = (furtherHeaders.length === 0 && bearer.exec(authorization)) || []
        if (key === undefined) return refuseKey(undefined, request, reply)
        const usedKey = serviceKeys.find(key)
        if (isRefused(usedKey))
          return refuseKey(usedKey.refused === 'expired_key' ? `expired ${usedKey.name}` : 'wrong', request, reply)
        // A right key is let in even when the limit of failed sign-ins is reached.
        request.serviceKey = usedKey
        await limits.forPrograms[limiterFor(scope)](request, reply)
        return reply.sent || usedKey.scopes.includes(scope) ? undefined : sendMissingScope(reply, scope)
      },
    )

  const guards: Readonly<Record<ServiceScope, ReturnType<typeof guardFor>>> = {
    'users:read': guardFor('users:read'),
    'users:write': guardFor('users:write'),
    'sessions:end': guardFor('sessions:end'),
    'revocations:read': guardFor('revocations:read'),
    'tokens:read': guardFor('tokens:read'),
    invitations: guardFor('invitations'),
    groups: guardFor('groups'),
  }

  return {
    /** The guard of a route that needs a key with this scope. */
    withScope: (scope: ServiceScope) => guards[scope],
    /** For handlers that need another scope beside that of their guard. */
    hasScope: (request: FastifyRequest, scope: ServiceScope) => request.serviceKey?.scopes.includes(scope) ?? false,
    sendMissingScope,
    actingClient,
  }
}

/**
 * A hook that cleans the `reason` of a body before the schema checks it, so that it is as safe to show as a name: invisible characters
 * are removed.
 */
export const cleanReason = async ({ body }: FastifyRequest) => {
  if (typeof body !== 'object' || body === null || !('reason' in body) || typeof body.reason !== 'string') return
  body.reason = displayName(body.reason, Number.POSITIVE_INFINITY) ?? ''
}
