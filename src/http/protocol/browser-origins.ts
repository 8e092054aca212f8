import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../../domain/applications/application.js'
import type { Applications } from '../../domain/applications/applications.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'

/** How long the page of an application that was just added may have to wait. */
const refreshInterval = 5 * seconds

const exposedHeaders = 'WWW-Authenticate, Retry-After'
const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type',
  'Access-Control-Max-Age': '600',
}

const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/

/**
 * The origins of the applications' pages: those with `https`, and outside production those of this machine. An address with another
 * scheme has the origin `null`.
 */
export const originsOf = (applications: readonly Application[], production: boolean) =>
  applications
    .filter(({ kind }) => kind === 'browser')
    .flatMap(({ redirectAddresses }) => redirectAddresses.map((address) => new URL(address).origin))
    .filter((origin) => origin.startsWith('https://') || (!production && loopback.test(origin)))

export type BrowserOrigins = ReturnType<typeof createBrowserOrigins>

/** CORS without credentials for the pages of applications that run in browsers. */
export const createBrowserOrigins = ({ clock, production }: { clock: Clock; production: boolean }) => {
  let origins: ReadonlySet<string> = new Set()
  let readAt = Number.NEGATIVE_INFINITY

  const currentOrigins = async (applications: Pick<Applications, 'list'>) => {
    const now = clock.now().getTime()
    if (Math.abs(now - readAt) < refreshInterval) return origins
    readAt = now
    try {
      origins = new Set(originsOf(await applications.list(), production))
    } catch {
      // The database is away, which the request itself will report. The last list stays until the next request reads it again.
      readAt = Number.NEGATIVE_INFINITY
    }
    return origins
  }

  return {
    /** Lets the page read the answer if it belongs to an application, and returns whether it does. */
    grant: async (applications: Pick<Applications, 'list'>, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('vary', 'Origin')
      const { origin } = request.headers
      if (origin === undefined || !(await currentOrigins(applications)).has(origin)) return false
      reply.headers({ 'Access-Control-Allow-Origin': origin, 'Access-Control-Expose-Headers': exposedHeaders })
      return true
    },
    preflight: preflightHeaders,
  }
}
