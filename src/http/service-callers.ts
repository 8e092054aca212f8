import type { FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../contract/outcome.js'
import type { ServiceKeys } from '../domain/service-keys/service-keys.js'
import type { Client } from '../domain/sessions/client.js'
import { clientOf } from './client.js'
import { sendRefusal } from './errors.js'
import type { Limits } from './limits.js'

export type ServiceCallers = ReturnType<typeof createServiceCallers>

/** None of the addresses needs these. A proxy may read them in another way, and take the address for one that it passes on. */
const isOddPath = ({ url }: FastifyRequest) => /[%.;\\]/.test(url.replace(/\?.*$/s, ''))

const bearer = /^Bearer +(\S+)$/i

/** Other programs, known by a key in the Authorization header. Cookies mean nothing on their routes. */
export const createServiceCallers = ({ serviceKeys, limits }: { serviceKeys: ServiceKeys; limits: Limits }) => {
  const required = async (request: FastifyRequest, reply: FastifyReply) => {
    if (isOddPath(request)) return sendRefusal(reply, refuse('not_found'))
    // Two such headers count as none, as with cookies.
    const [given = '', ...more] = request.raw.headersDistinct.authorization ?? []
    const [, key] = (more.length === 0 && bearer.exec(given)) || []
    const used = key === undefined ? undefined : serviceKeys.find(key)
    if (used) {
      request.serviceKey = used
      return limits.service(request, reply)
    }
    // A wrong key counts as a failed sign-in of its network. A right one is let in even when that limit is reached.
    if (key !== undefined) await limits.login(request, reply)
    if (reply.sent) return reply
    return sendRefusal(reply.header('WWW-Authenticate', 'Bearer'), refuse('not_authenticated'))
  }

  return {
    required,
    /** The client for an event that a program causes: the key instead of a browser. */
    clientOf: (request: FastifyRequest): Client => ({
      ...clientOf(request),
      userAgent: `service key ${request.serviceKey?.name}`,
    }),
  }
}
