import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Application, clientIdOf } from '../applications/applications.js'
import { type Refused, refuse } from '../contract/outcome.js'
import { type Form, formOf } from '../http/forms.js'
import { fixedLimiter } from '../http/limiters.js'
import { type CountedRequests, setLimitHeaders } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'
import { guardHook, route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { Platform } from '../platform/platform.js'
import type { Config } from '../settings/config.js'
import type { BelowOpenid, backgroundOf, OpenidRoom } from './open-openid.js'

/** The database is asked at most this often whether there is an application. */
const checkInterval = 1 * seconds

type OnDemand<Loaded> = { isWanted: () => Promise<boolean>; load: () => Promise<Loaded> }

/** Calls `load` once, when `isWanted` first says yes. From then on the loaded value is available or not, as `isWanted` last said. */
const createOnDemand = <Loaded>(clock: Clock, { isWanted, load }: OnDemand<Loaded>) => {
  let loaded: Loaded | undefined
  let isOpen = false
  let checking: Promise<void> | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const current = () => (isOpen ? loaded : undefined)

  const check = async () => {
    try {
      const isWantedNow = await isWanted()
      if (isWantedNow) loaded ??= await load()
      isOpen = isWantedNow
    } catch (error) {
      // If the database does not answer, a provider that is open stays open.
      if (current()) return
      // Whether there is an application is not known. The next request must ask again, and not answer that there is none.
      askedAt = Number.NEGATIVE_INFINITY
      throw error
    } finally {
      checking = undefined
    }
  }

  const checkNow = async () => {
    checking ??= check()
    await checking
    return current()
  }

  const checkAtMostOnceASecond = async () => {
    // While a slow database has not answered, requests use the provider that is open. They wait only if none is.
    if (checking) return current() ?? checkNow()
    const moment = clock.now().getTime()
    if (Math.abs(moment - askedAt) < checkInterval) return current()
    askedAt = moment
    return checkNow()
  }

  return { checkNow, checkAtMostOnceASecond }
}

export type OpenidProvider = ReturnType<typeof createOpenidProvider>

/**
 * The OpenID provider, with which applications sign their users in. Nothing of it is loaded, made or started before there is an
 * application. The first application opens it, and the deletion of the last one closes it, also while the service runs.
 */
export const createOpenidProvider = (config: Config, platform: Platform, rooms: BelowOpenid) => {
  const { clock, log } = platform
  let background: ReturnType<typeof backgroundOf> = { parts: [], jobs: [] }
  let isRunning = false
  let keyAges: OpenidRoom['loadedApplicationKeys']['ages'] = () => ({})

  const startParts = () => {
    for (const part of background.parts.toReversed()) part.start()
  }

  const load = async () => {
    const { openOpenid, backgroundOf } = await import('./open-openid.js')
    const opened: OpenidRoom = openOpenid(config, platform, rooms)
    background = backgroundOf(opened)
    keyAges = opened.loadedApplicationKeys.ages
    if (isRunning) startParts()
    return opened
  }
  const onDemand = createOnDemand(clock, { isWanted: rooms.applications.exist, load })

  return {
    /** Gives undefined while there is no application: then every address of the provider answers 404. */
    open: onDemand.checkAtMostOnceASecond,
    /** The ages of the keys in seconds, by algorithm, for the metrics. */
    keyAges: () => keyAges(),
    /** The housekeeping calls this in each round, so that an instance without requests opens the provider, too. */
    jobs: async () => {
      await onDemand.checkAtMostOnceASecond()
      return background.jobs
    },
    start: () => {
      isRunning = true
      startParts()
      onDemand.checkNow().catch((err: unknown) => log.warn({ err }, 'the applications could not be read'))
    },
    stop: async () => {
      isRunning = false
      await Promise.allSettled(background.parts.map((part) => part.stop()))
    },
  }
}

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
const createRecent = <Value>(clock: Clock, read: (openid: OpenidRoom) => Promise<Value>) => {
  let last: { value: Value; readAt: number } | undefined
  let reading: Promise<Value> | undefined
  const isRecent = ({ readAt }: { readAt: number }) => Math.abs(clock.now().getTime() - readAt) < refreshInterval

  const readNow = async (openid: OpenidRoom) => {
    const value = await read(openid)
    last = { value, readAt: clock.now().getTime() }
    return value
  }

  return async (openid: OpenidRoom) => {
    // While a slow database has not answered, requests use the last value.
    if (last && (reading || isRecent(last))) return last.value
    reading ??= readNow(openid).finally(() => {
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

/**
 * The clients as they were a second ago. So the requests of strangers are refused without a statement of the database, and pages of
 * applications may read our answers.
 */
const createKnownClients = (clock: Clock, production: boolean) => {
  const recentClients = createRecent(clock, async ({ applicationSecrets }) => {
    const owners = await applicationSecrets.owners()
    return {
      owners,
      byId: new Map(owners.map((owner) => [clientIdOf(owner.application), owner])),
      /** CORS is for applications whose own pages ask for tokens. */
      readingOrigins: new Set(
        owners
          .map(({ application }) => application)
          .filter(({ kind }) => kind === 'browser' || kind === 'document')
          .flatMap((client) => originsOf(client, production)),
      ),
    }
  })

  const find = async (id: string, openid: OpenidRoom) => (await recentClients(openid)).byId.get(id)

  return {
    /** What `applicationSecrets` answers, but from memory. */
    lookups: (openid: OpenidRoom) => ({
      findOwnerOf: (id: string) => find(id, openid),
      findOwner: async (secret: string) =>
        (await recentClients(openid)).owners.filter(({ isRight }) => isRight(secret))[0]?.application,
    }),
    /** Whether the page that sends the request is one of this client. */
    isPageOf: async (id: string, openid: OpenidRoom, { headers: { origin } }: FastifyRequest) => {
      const client = (await find(id, openid))?.application
      return client !== undefined && origin !== undefined && originsOf(client, production).includes(origin)
    },
    /** Whether the page that sends the request may read the answer. */
    mayRead: async (openid: OpenidRoom, { headers: { origin } }: FastifyRequest) =>
      origin !== undefined && (await recentClients(openid)).readingOrigins.has(origin),
  }
}

type Handler = (
  openid: OpenidRoom,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply | Refused<'not_found'> | undefined>

export type ProtocolDoor = ReturnType<typeof createProtocolDoor>

/**
 * Stands in front of the handlers for programs. While there is no application, their addresses are unknown. Pages of applications in
 * browsers may read the answers.
 */
export const createProtocolDoor = (openidProvider: OpenidProvider, clock: Clock, { production }: Config) => {
  const knownClients = createKnownClients(clock, production)

  /** What the routes of the protocol have in common. Their other refusals have the form of the standards. */
  const answerWith = (handler: Handler) =>
    ({
      hidden: true,
      guard: [],
      refuses: ['not_found'],
      answers: {},
      handle: async ({ request, reply }: { request: FastifyRequest; reply: FastifyReply }) => {
        const openid = await openidProvider.open()
        return openid ? handler(openid, request, reply) : refuse('not_found')
      },
    }) as const

  /** Lets the page read the answer if it belongs to an application, and returns whether it does. CORS without credentials. */
  const letRead = async (openid: OpenidRoom, request: FastifyRequest, reply: FastifyReply) => {
    reply.header('vary', 'Origin')
    // If the database is away, the request itself will report it.
    if (!(await knownClients.mayRead(openid, request).catch(() => false))) return false
    reply.headers({
      'Access-Control-Allow-Origin': request.headers.origin,
      'Access-Control-Expose-Headers': exposedHeaders,
    })
    return true
  }

  /** Runs with every answer, so that a page may also read a refusal from before the handler, such as for a body that is too large. */
  const letReadEveryAnswer = async (request: FastifyRequest, reply: FastifyReply) => {
    const openid = await openidProvider.open().catch(() => undefined)
    if (openid) await letRead(openid, request, reply)
  }

  return {
    knownClients,
    /** All of a route but its limiters. */
    through: (handler: Handler) => ({ ...answerWith(handler), onSend: letReadEveryAnswer }),
    /** Answers the preflight that a browser sends before a request of another site's page. */
    answerPreflights: (server: Server, url: `/${string}`) =>
      route(server, `OPTIONS ${url}`, {
        ...answerWith(async (openid, request, reply) => {
          if (await letRead(openid, request, reply)) reply.headers(preflightHeaders)
          return reply.status(204).send()
        }),
        config: { unlimited: 'Sent from memory' },
      }),
  }
}

type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

/** The pages at addresses of the protocol. */
export type ProtocolPages = {
  /** `posted`: the form that an application has sent, as a query. */
  protocolPage: (
    name: 'authorize' | 'device' | 'end-session',
  ) => (request: FastifyRequest, reply: FastifyReply, posted?: string) => FastifyReply
  plainPage: (name: 'not-found' | 'too-many-requests') => SendPage
}

const postedPages = fixedLimiter('posted_pages')

/** The form as the query of an address. A repeated parameter is repeated, so that the check of the parameters sees it. */
const textOf = ({ values, repeated }: Form) =>
  new URLSearchParams([...values, ...repeated.map((name) => [name, values.get(name) ?? ''])]).toString()

/**
 * Adds the page to which applications send their users, by a link or by a form. While there is no application, its address is unknown.
 * Everybody may send forms, from any site and without a cookie, so they are counted before they are read.
 */
export const addPageRoutes = (
  server: Server,
  url: `/${string}`,
  { openidProvider, countedRequests }: { openidProvider: OpenidProvider; countedRequests: CountedRequests },
  { plainPage }: ProtocolPages,
  sendPage: ReturnType<ProtocolPages['protocolPage']>,
) => {
  const sendNotFound = plainPage('not-found')
  const sendTooMany = plainPage('too-many-requests')
  const refuseWhileClosed = guardHook({}, [], async (request, reply) =>
    (await openidProvider.open()) ? undefined : sendNotFound(request, reply),
  )
  const limitForms = guardHook({ limiters: [postedPages.name] }, [], async (request, reply) => {
    const excess = await countedRequests.countAndFindExcess(postedPages, clientNetwork(request), request, reply)
    return excess && sendTooMany(request, reply.header('Retry-After', setLimitHeaders(reply, postedPages, excess)))
  })
  const page = { hidden: true, refuses: [], answers: {} } as const
  route(server, `GET ${url}`, {
    ...page,
    guard: [refuseWhileClosed],
    config: { unlimited: 'Sent from memory' },
    handle: async ({ request, reply }) => sendPage(request, reply),
  })
  route(server, `POST ${url}`, {
    ...page,
    guard: [refuseWhileClosed, limitForms],
    handle: async ({ request, reply }) => sendPage(request, reply, textOf(formOf(request))),
  })
}
