import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Events } from '../domain/events/events.js'
import { type ServiceKeys, type ServiceScope, serviceScopes } from '../domain/service-keys/service-keys.js'
import type { Client } from '../domain/sessions/client.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { clientConnection, clientOf } from './client.js'
import { sendRefusal } from './errors.js'
import type { Limits } from './limits/limits.js'
import { createOncePerWindow } from './once-per-window.js'

export type ServiceCallers = ReturnType<typeof createServiceCallers>

/** None of the addresses needs these. A proxy may read them in another way, and take the address for one that it passes on. */
const isOddPath = ({ url }: FastifyRequest) => /[%.;\\]/.test(url.replace(/\?.*$/s, ''))

/** What a route for other programs may refuse. The gate itself gives all of them but a query that is not understood. */
export const serviceRefusals = [
  'bad_request',
  'not_authenticated',
  'cross_site',
  'scope_required',
  'not_found',
  'too_many_requests',
  'too_many_logins',
  'unavailable',
] as const

const bearer = /^Bearer +(\S+)$/i

/** A program with an expired key tries again and again. One event says it. */
const reportWindow = 15 * minutes
const mostReported = 1_000

type Dependencies = { serviceKeys: ServiceKeys; limits: Limits; events: Pick<Events, 'record'>; clock: Clock }

/** Other programs, known by a key in the Authorization header. Cookies mean nothing on their routes. */
export const createServiceCallers = ({ serviceKeys, limits, events, clock }: Dependencies) => {
  const isNew = createOncePerWindow({ mostKeys: mostReported, clock })

  const report = async (reason: string, request: FastifyRequest) => {
    if (isNew(`${clientConnection(request)} ${reason}`, reportWindow))
      await events.record({ kind: 'service_key_refused', reason }, clientOf(request))
  }

  /** A missing, wrong or expired key. A wrong one counts as a failed sign-in of its network. */
  const refuseKey = async (reason: string | undefined, request: FastifyRequest, reply: FastifyReply) => {
    if (reason !== undefined) {
      await report(reason, request)
      await limits.login(request, reply)
    }
    if (reply.sent) return reply
    return sendRefusal(reply.header('WWW-Authenticate', 'Bearer'), refuse('not_authenticated'))
  }

  const gateFor = (scope: ServiceScope) => async (request: FastifyRequest, reply: FastifyReply) => {
    if (isOddPath(request)) return sendRefusal(reply, refuse('not_found'))
    // Two such headers count as none, as with cookies.
    const [authorization = '', ...more] = request.raw.headersDistinct.authorization ?? []
    const [, key] = (more.length === 0 && bearer.exec(authorization)) || []
    if (key === undefined) return refuseKey(undefined, request, reply)
    const used = serviceKeys.find(key)
    if (isRefused(used))
      return refuseKey(used.refused === 'expired_key' ? `expired ${used.name}` : 'wrong', request, reply)
    // A right key is let in even when the limit of failed sign-ins is reached.
    request.serviceKey = used
    await limits.service(request, reply)
    if (reply.sent || used.scopes.includes(scope)) return undefined
    // RFC 6750, 3.1.
    const says = `Bearer error="insufficient_scope", scope="${scope}"`
    const message = `This needs a service key with the scope ${scope}`
    return sendRefusal(reply.header('WWW-Authenticate', says), refuse('scope_required', { message }))
  }

  const gates: Readonly<Record<ServiceScope, ReturnType<typeof gateFor>>> = {
    'users:read': gateFor('users:read'),
    'sessions:end': gateFor('sessions:end'),
    'revocations:read': gateFor('revocations:read'),
  }

  return {
    /** The gate of a route: a key that has this scope. */
    withScope: (scope: ServiceScope) => gates[scope],
    /** Which scope a gate asks for; undefined if it is no gate of ours. */
    scopeOf: (gate: unknown) => serviceScopes.find((scope) => gates[scope] === gate),
    /** The client for an event that a program causes: the key instead of a browser. */
    clientOf: (request: FastifyRequest): Client => ({
      ...clientOf(request),
      userAgent: `service key ${request.serviceKey?.name}`,
    }),
  }
}
