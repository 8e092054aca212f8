import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Applications } from '../applications/applications.js'
import { refuse } from '../contract/outcome.js'
import { sendRefusal } from '../http/errors.js'
import { type Form, formOf } from '../http/forms.js'
import { fixedLimiter } from '../http/limiters.js'
import { type CountedRequests, setLimitHeaders } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { RoomPlatform, Rooms } from '../service/open-rooms.js'
import type { Config } from '../settings/config.js'
import type { KnownClients } from './known-clients.js'
import type { backgroundOf, OpenidNouns } from './open-openid.js'

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
export const createOpenidProvider = (config: Config, platform: RoomPlatform, nouns: Rooms) => {
  const { clock, log } = platform
  let background: ReturnType<typeof backgroundOf> = { parts: [], jobs: [] }
  let isRunning = false
  let keyAges: OpenidNouns['loadedApplicationKeys']['ages'] = () => ({})

  const startParts = () => {
    for (const part of background.parts.toReversed()) part.start()
  }

  const load = async () => {
    const { createOpenidNouns, backgroundOf } = await import('./open-openid.js')
    const opened: OpenidNouns = createOpenidNouns(config, platform, nouns)
    background = backgroundOf(opened)
    keyAges = opened.loadedApplicationKeys.ages
    if (isRunning) startParts()
    return opened
  }
  const onDemand = createOnDemand(clock, { isWanted: nouns.applications.exist, load })

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

/** The nouns of the provider; undefined while there is no application. */
type ProtocolDoorOpenidProvider<Rooms> = { open(): Promise<Rooms | undefined> }

type Dependencies<Rooms> = {
  openidProvider: ProtocolDoorOpenidProvider<Rooms>
  knownClients: KnownClients
}

type WithApplications = { applications: Applications }
export type ProtocolDoor<Rooms extends WithApplications> = ReturnType<typeof createProtocolDoor<Rooms>>

/**
 * Stands in front of the handlers for programs. While there is no application, their addresses are unknown. Pages of applications in
 * browsers may read the answers.
 */
export const createProtocolDoor = <Rooms extends WithApplications>({
  openidProvider,
  knownClients,
}: Dependencies<Rooms>) => {
  type Handler = (nouns: Rooms, request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

  const answerWith = (handler: Handler) => async (request: FastifyRequest, reply: FastifyReply) => {
    const nouns = await openidProvider.open()
    return nouns ? handler(nouns, request, reply) : sendRefusal(reply, refuse('not_found'))
  }

  /** Runs with every answer, so that a page may also read a refusal from before the handler, such as for a body that is too large. */
  const grant = async (request: FastifyRequest, reply: FastifyReply) => {
    const nouns = await openidProvider.open().catch(() => undefined)
    if (nouns) await knownClients.grant(nouns, request, reply)
  }

  return {
    /** The hook and the handler of a route. */
    through: (handler: Handler) => ({ onSend: [grant], handler: answerWith(handler) }),
    /** Answers the preflight that a browser sends before a request of another site's page. */
    answerPreflights: (server: Server, url: string) =>
      server.route({
        method: 'OPTIONS',
        url,
        schema: { hide: true },
        config: { unlimited: 'Sent from memory' },
        handler: answerWith(async (nouns, request, reply) => {
          if (await knownClients.grant(nouns, request, reply)) reply.headers(knownClients.preflight)
          return reply.status(204).send()
        }),
      }),
  }
}

type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

export type PageRouteParts = {
  countedRequests: CountedRequests
  /** `posted`: the form that an application has sent, as a query. */
  sendPage: (request: FastifyRequest, reply: FastifyReply, posted?: string) => FastifyReply
  sendNotFound: SendPage
  sendTooMany: SendPage
}

const limiter = fixedLimiter('posted_pages')

/** The form as the query of an address. A repeated parameter is repeated, so that the check of the parameters sees it. */
const textOf = ({ values, repeated }: Form) =>
  new URLSearchParams([...values, ...repeated.map((name) => [name, values.get(name) ?? ''])]).toString()

/**
 * Adds the page to which applications send their users, by a link or by a form. While there is no application (`isOpen`), its address is
 * unknown. Everybody may send forms, from any site and without a cookie, so they are counted before they are read.
 */
export const addPageRoutes = (
  server: Server,
  url: string,
  { countedRequests, sendPage, sendNotFound, sendTooMany, isOpen }: PageRouteParts & { isOpen: () => Promise<boolean> },
) => {
  const refuseWhileClosed = async (request: FastifyRequest, reply: FastifyReply) =>
    (await isOpen()) ? undefined : sendNotFound(request, reply)
  const limitForms = async (request: FastifyRequest, reply: FastifyReply) => {
    const excess = await countedRequests.countAndFindExcess(limiter, clientNetwork(request), request, reply)
    return excess && sendTooMany(request, reply.header('Retry-After', setLimitHeaders(reply, limiter, excess)))
  }
  const schema = { hide: true }
  const fromMemory = { unlimited: 'Sent from memory' }
  server.get(url, { schema, config: fromMemory, onRequest: refuseWhileClosed }, (request, reply) =>
    sendPage(request, reply),
  )
  const counted = { countsIn: [limiter.name] }
  server.post(url, { schema, config: counted, onRequest: [refuseWhileClosed, limitForms] }, (request, reply) =>
    sendPage(request, reply, textOf(formOf(request))),
  )
}
