import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isAdminPath } from '../admin/admin-guard.js'
import { refuse } from '../contract/outcome.js'
import { refusals } from '../contract/refusals.js'
import { sendRefusal } from './errors.js'
import { sendProtocolError } from './protocol-errors.js'
import { isAddressForPrograms } from './protocol-routes.js'
import { withoutQuery } from './request-log.js'

/** A pattern for a path with parameters, to recognise a known path with another method (405 and not 404). */
const asPattern = (url: string) =>
  new RegExp(
    `^${url
      .replaceAll(/[.+]/g, '\\$&')
      .replaceAll(/:[^/]+/g, '[^/]+')
      .replaceAll('*', '.*')}$`,
  )

const wrongMethod = { error: 'invalid_request', description: refusals.method_not_allowed.message, status: 405 } as const

/** Learns every route that is registered from now on, and answers what belongs to none of them. */
export const createUnknownAddresses = (server: FastifyInstance) => {
  const routes = new Map<string, { url: string; pattern: RegExp; methods: Set<string> }>()
  server.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { url, pattern: asPattern(url), methods: new Set() }
    for (const each of [method].flat()) route.methods.add(each)
    routes.set(url, route)
  })

  /** 405 if the path is known with another method, and not for administrators only; otherwise a page for browsers and an error for programs. */
  return (page: (request: FastifyRequest, reply: FastifyReply) => FastifyReply) =>
    server.setNotFoundHandler((request, reply) => {
      const path = withoutQuery(request.url)
      const matchingRoutes = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const methods = [...new Set(matchingRoutes.flatMap(({ methods }) => [...methods]))].sort()
      const isHidden = matchingRoutes.some(({ url }) => isAdminPath(url))
      if (methods.length > 0 && !methods.includes(request.method) && !isHidden) {
        reply.header('Allow', methods.join(', '))
        return matchingRoutes.some(({ url }) => isAddressForPrograms(url))
          ? sendProtocolError(reply, wrongMethod)
          : sendRefusal(reply, refuse('method_not_allowed'))
      }
      const isPageRequest = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
      return isPageRequest && !path.startsWith('/api/') ? page(request, reply) : sendRefusal(reply, refuse('not_found'))
    })
}
