import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ApplicationSecrets, ownersAmong } from '../applications/application-secrets.js'
import type { Application, Applications } from '../applications/applications.js'

import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'

/** How long an application or a secret that was just added may have to wait. */
const refreshInterval = 1 * seconds

const exposedHeaders = 'WWW-Authenticate, Retry-After'
const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Allow-Headers': 'Authorization, Content-Type',
  'Access-Control-Max-Age': '600',
}

const loopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?::\d+)?$/

/**
 * The origins of the pages of an application: those of its redirect addresses with `https`, and outside production those of this machine. A
 * native application has no page.
 */
export const originsOf = ({ kind, redirectAddresses }: Application, production: boolean) =>
  kind === 'native'
    ? []
    : redirectAddresses
        .map((address) => new URL(address).origin)
        .filter((origin) => origin.startsWith('https://') || (!production && loopback.test(origin)))

/** What `read` gave last, at most a second ago. While the database is away, older than that. */
const createRecent = <Source, Value>(clock: Clock, read: (source: Source) => Promise<Value>) => {
  let last: { value: Value; readAt: number } | undefined
  let reading: Promise<Value> | undefined
  const isRecent = ({ readAt }: { readAt: number }) => Math.abs(clock.now().getTime() - readAt) < refreshInterval

  const readNow = async (source: Source) => {
    const value = await read(source)
    last = { value, readAt: clock.now().getTime() }
    return value
  }

  return async (source: Source) => {
    // While a slow database has not answered, requests use the last value.
    if (last && (reading || isRecent(last))) return last.value
    reading ??= readNow(source).finally(() => {
      reading = undefined
    })
    try {
      return await reading
    } catch (error) {
      if (last) return last.value
      throw error
    }
  }
}

/** Whether a page in a browser sends the request. A program sends neither of these headers, and a browser lets no page leave them out. */
export const isSentByPage = ({ headers: { origin, 'sec-fetch-site': site } }: FastifyRequest) =>
  origin !== undefined || (site !== undefined && site !== 'none')

type Source = {
  applications: Pick<Applications, 'list'>
  applicationSecrets: Pick<ApplicationSecrets, 'hashes'>
}

export type KnownClients = ReturnType<typeof createKnownClients>

/**
 * The applications as they were a second ago. So the requests of strangers are refused without a statement of the database, and pages of
 * applications may read our answers.
 */
export const createKnownClients = ({ clock, production }: { clock: Clock; production: boolean }) => {
  const recentApplications = createRecent(clock, async ({ applications }: Pick<Source, 'applications'>) => {
    const all = await applications.list()
    return {
      byId: new Map(all.map((application) => [application.id, application])),
      /** CORS is for applications whose own pages ask for tokens. */
      readingOrigins: new Set(
        all.filter(({ kind }) => kind === 'browser').flatMap((application) => originsOf(application, production)),
      ),
    }
  })
  const recentHashes = createRecent(clock, ({ applicationSecrets }: Pick<Source, 'applicationSecrets'>) =>
    applicationSecrets.hashes(),
  )

  const find = async (id: string, source: Pick<Source, 'applications'>) =>
    (await recentApplications(source)).byId.get(id)

  const ownersOf = async (secret: string, source: Source) => ownersAmong(await recentHashes(source), secret)

  const mayRead = async (source: Pick<Source, 'applications'>, { headers: { origin } }: FastifyRequest) =>
    origin !== undefined && (await recentApplications(source)).readingOrigins.has(origin)

  return {
    /** What `applications` and `applicationSecrets` answer, but from memory. */
    lookups: (source: Source) => ({
      find: (id: string) => find(id, source),
      isRight: async (id: string, secret: string) => (await ownersOf(secret, source)).some((owner) => owner.id === id),
      findOwner: async (secret: string) => (await ownersOf(secret, source))[0],
    }),
    /** Whether the page that sends the request is one of this application. */
    isPageOf: async (id: string, source: Pick<Source, 'applications'>, { headers: { origin } }: FastifyRequest) => {
      const application = await find(id, source)
      return application !== undefined && origin !== undefined && originsOf(application, production).includes(origin)
    },
    /** Whether the page that sends the request may read the answer. */
    mayRead,
    /** Lets the page read the answer if it belongs to an application, and returns whether it does. CORS without credentials. */
    grant: async (source: Pick<Source, 'applications'>, request: FastifyRequest, reply: FastifyReply) => {
      reply.header('vary', 'Origin')
      // If the database is away, the request itself will report it.
      if (!(await mayRead(source, request).catch(() => false))) return false
      reply.headers({
        'Access-Control-Allow-Origin': request.headers.origin,
        'Access-Control-Expose-Headers': exposedHeaders,
      })
      return true
    },
    preflight: preflightHeaders,
  }
}
