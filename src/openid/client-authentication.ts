import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type Application,
  type NamedApplication,
  type RememberedClient,
  type SecretOwner,
  swappedSentence,
  unknownClientSentence,
} from '../applications/applications.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { type ProtocolError, sendProtocolError, sendRefusal } from '../http/errors.js'
import { type Form, formOf } from '../http/forms.js'
import { fixedLimiter, type LimiterName, type RouteLimiters } from '../http/limiters.js'
import { type CountedRequests, sendLimited } from '../http/limits.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'
import { createOncePerWindow, RecentMap } from '../lib/recent.js'
import { isCleanText } from '../lib/strict-json.js'
import type { Events } from '../messages/events.js'
import type { OpenidRoom } from './open-openid.js'
import { isSentByPage, type ProtocolDoor } from './openid-door.js'

type Credentials = { id: string; secret: string | undefined }

/** A note for the operators of a known application. */
type Note = { client: NamedApplication; sentence: string }
type Invalid = Refused<'invalid'> & { fault: ProtocolError; note?: Note | undefined }

const invalidRequest = (description: string): Invalid =>
  refuse('invalid', { fault: { error: 'invalid_request', description } as const })
const invalidClient = (description: string, note?: Note): Invalid =>
  refuse('invalid', { fault: { error: 'invalid_client', description, status: 401 } as const, note })

/** Each part was encoded as in a form before they were joined (RFC 6749, 2.3.1). */
const decodePart = (part: string) => decodeURIComponent(part.replaceAll('+', ' '))

const readBasic = (authorization: string): Credentials | undefined => {
  const [, encoded = ''] = /^Basic +([A-Za-z0-9+/_-]+={0,2})$/i.exec(authorization) ?? []
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return undefined
  try {
    const id = decodePart(text.slice(0, colon))
    const secret = decodePart(text.slice(colon + 1))
    return isCleanText(id) && isCleanText(secret) ? { id, secret } : undefined
  } catch {
    return undefined
  }
}

/** `client_secret_basic`, `client_secret_post` or `none`: one of them (RFC 6749, 2.3). */
const readCredentials = (headers: readonly string[], { values, repeated }: Form): Credentials | Invalid => {
  if (repeated.length > 0) return invalidRequest('A parameter was sent twice')
  const id = values.get('client_id')
  const secret = values.get('client_secret')
  const [authorization, ...furtherHeaders] = headers
  if (furtherHeaders.length > 0) return invalidRequest('There is more than one Authorization header')
  if (authorization === undefined)
    return id === undefined ? invalidClient('The client has not said who it is') : { id, secret }
  if (secret !== undefined) return invalidRequest('The client has authenticated in two ways at once')
  const basic = readBasic(authorization)
  if (!basic) return invalidClient('The Authorization header is not understood')
  return id === undefined || id === basic.id
    ? basic
    : invalidRequest('client_id is not the client of the Authorization header')
}

/** Finds clients, in the database or from memory. */
type Lookups = {
  findOwnerOf: (id: string) => Promise<SecretOwner | undefined>
  findOwner: (secret: string) => Promise<NamedApplication | undefined>
}

const unknownOrWrong = 'The client is not known or its secret is wrong'

const judge = async (
  { id, secret }: Credentials,
  { findOwnerOf, findOwner }: Lookups,
): Promise<Application | Invalid> => {
  const found = await findOwnerOf(id)
  if (!found) {
    // As much work as for a wrong secret, so that the time does not show which applications exist.
    const owner = await findOwner(id)
    return invalidClient(unknownOrWrong, owner && { client: owner, sentence: swappedSentence })
  }
  const { application: client, isRight } = found
  const invalid = (description: string, sentence: string) => invalidClient(description, { client, sentence })
  if (client.kind !== 'web')
    return secret === undefined
      ? client
      : invalid('This client has no secret and must not send one', 'A secret was sent, and the application has none')
  if (secret === undefined) return invalid('This client must authenticate', 'No secret was sent')
  return isRight(secret) ? client : invalid(unknownOrWrong, 'The secret is wrong')
}

/**
 * The subject by which the requests of a client are counted. Anyone can send the id of a client that has no secret, so such a client is
 * counted by network.
 */
const subjectOf = ({ id, kind }: Application, request: FastifyRequest) =>
  kind === 'web' ? `application:${id}` : `application:${id}:${clientNetwork(request)}`

const applicationLimiter = fixedLimiter('application')

/** A program with a wrong secret tries again and again, but causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** The event, and the list of errors of the application, say which program it is. */
const createReport = (events: Events, clock: Clock) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  // Ids can be invented. They have a memory of their own, and one place in it for each network: otherwise one client could fill the
  // memory, and no failure of a real application would be an event.
  const isNewNetwork = createOncePerWindow({ maxKeys: maxReported, clock })
  return async ({ note }: Invalid, { id }: Credentials, { applicationErrors }: OpenidRoom, request: FastifyRequest) => {
    const origin = clientOf(request)
    const network = clientNetwork(request)
    if (note) applicationErrors.note(note.client, 'client', note.sentence, origin)
    else applicationErrors.noteUnknown(id, undefined, origin)
    if (
      note
        ? !isNew(`${network} ${note.client.id} ${note.sentence}`, reportWindow)
        : !isNewNetwork(network, reportWindow)
    )
      return
    const reason = note ? `${note.client.name}: ${note.sentence}` : unknownClientSentence(id)
    await events.record({ kind: 'application_refused', reason }, origin)
  }
}

const maxRememberedNetworks = 10_000

/** The networks that have failed too often, until their time is over. */
const createLimitedNetworks = (clock: Clock) => {
  const limitedUntil = new RecentMap<string, number>(maxRememberedNetworks)
  const now = () => clock.now().getTime()
  return {
    has: (network: string) => (limitedUntil.get(network) ?? 0) > now(),
    add: (network: string, duration: number) => {
      limitedUntil.set(network, now() + duration)
    },
  }
}

const foreignPage = refuse('cross_site', { message: 'A page that does not belong to this client has sent the request' })

type SentRequest = { form: Form; request: FastifyRequest; reply: FastifyReply }

/** `remembered`: the client was authenticated from memory, and the statement that answers it must check that. */
type Authenticated = { client: Application; remembered: RememberedClient | undefined }

/** The request of a client that has authenticated. */
export type ClientRequest = SentRequest & Authenticated

type ClientRouteOptions = {
  /** Called for a request whose client was refused, with the status of the answer. */
  onClientRefused?: (form: Form, status: number) => void
  /** Whether the statement that answers the request checks a remembered client. */
  checksClient?: (form: Form) => boolean
  /** Further limiters in which the handler counts. */
  countsIn?: readonly LimiterName[]
}

type Parts = { countedRequests: CountedRequests; routeLimiters: RouteLimiters; events: Events; clock: Clock }

/** Answers a client that could not authenticate, and counts it. A failure is counted by network, apart from passwords. */
const refuseClient = async (
  { countedRequests, routeLimiters: { client_failures: failuresLimiter } }: Parts,
  limitedNetworks: ReturnType<typeof createLimitedNetworks>,
  { fault }: Invalid,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const network = clientNetwork(request)
  const excess = await countedRequests.countAndFindExcess(failuresLimiter, network, request, reply)
  if (excess) {
    limitedNetworks.add(network, excess.resetsIn)
    sendLimited(reply, failuresLimiter, excess)
  } else sendProtocolError(reply, fault, fault.error === 'invalid_client' ? 'basic' : undefined)
  return undefined
}

/**
 * Authenticates the client that sends a request to the token endpoint, the revocation endpoint or the one for devices. The right secret is
 * let in even when the limit of failures is reached. The results are undefined if the request was answered with a refusal.
 */
const createAuthenticate = (parts: Parts, { knownClients }: ProtocolDoor) => {
  const { countedRequests, events, clock } = parts
  const report = createReport(events, clock)
  const limitedNetworks = createLimitedNetworks(clock)

  /** Whether a page of somebody else sends the request: nothing is counted for it, or it could use up the limits of its visitors. */
  const isOfForeignPage = async (credentials: Credentials | Invalid, openid: OpenidRoom, request: FastifyRequest) =>
    isSentByPage(request) && (isRefused(credentials) || !(await knownClients.isPageOf(credentials.id, openid, request)))

  const credentialsOf = ({ form, request }: SentRequest) =>
    readCredentials(request.raw.headersDistinct.authorization ?? [], form)

  const refuseJudged = async (
    outcome: Invalid,
    credentials: Credentials,
    openid: OpenidRoom,
    { request, reply }: SentRequest,
  ) => {
    await report(outcome, credentials, openid, request)
    return refuseClient(parts, limitedNetworks, outcome, request, reply)
  }

  /** Asks the database about a client that is not what was remembered. Its request is counted already. */
  const authenticateAgain = async (openid: OpenidRoom, sent: SentRequest): Promise<Authenticated | undefined> => {
    const credentials = credentialsOf(sent)
    if (isRefused(credentials)) return refuseClient(parts, limitedNetworks, credentials, sent.request, sent.reply)
    const outcome = await judge(credentials, openid.applicationSecrets)
    return isRefused(outcome)
      ? refuseJudged(outcome, credentials, openid, sent)
      : { client: outcome, remembered: undefined }
  }

  const authenticate = async (
    openid: OpenidRoom,
    sent: SentRequest,
    isCheckedLater: boolean,
  ): Promise<Authenticated | undefined> => {
    const { request, reply } = sent
    const credentials = credentialsOf(sent)
    if (await isOfForeignPage(credentials, openid, request)) {
      sendRefusal(reply, foreignPage)
      return undefined
    }
    if (isRefused(credentials)) return refuseClient(parts, limitedNetworks, credentials, request, reply)

    // Each request counts by its client, before anything is done for it.
    const count = (client: Application) =>
      countedRequests.count(applicationLimiter, subjectOf(client, request), request, reply)
    const memory = knownClients.lookups(openid)
    const known = await memory.findOwnerOf(credentials.id)
    // Anyone can be a client without a secret, so it is counted before the database is asked.
    const isPublic = known !== undefined && known.application.kind !== 'web'
    if (isPublic && (await count(known.application))) return undefined

    // Of a network that fails again and again, only what may be right reaches the database.
    const isLimited = limitedNetworks.has(clientNetwork(request))
    const judged = isLimited || isCheckedLater ? await judge(credentials, memory) : undefined
    if (isCheckedLater && known && judged && !isRefused(judged)) {
      if (!isPublic && (await count(judged))) return undefined
      const secretHash = credentials.secret === undefined ? null : fingerprint(credentials.secret)
      return { client: judged, remembered: { version: known.version, secretHash } }
    }
    const outcome = isLimited && isRefused(judged) ? judged : await judge(credentials, openid.applicationSecrets)
    if (isRefused(outcome)) return refuseJudged(outcome, credentials, openid, sent)
    if (!isPublic && (await count(outcome))) return undefined
    return { client: outcome, remembered: undefined }
  }

  return { authenticate, authenticateAgain }
}

/** The answer of a handler whose statement has found that the remembered client has changed. Nothing was done. */
export type Unconfirmed = Refused<'unconfirmed'>

export type ClientRoutes = ReturnType<typeof createClientRoutes>

/** Routes that take the form of a client after it has authenticated. All of them count together. */
export const createClientRoutes = (parts: Parts, protocolDoor: ProtocolDoor) => {
  const { authenticate, authenticateAgain } = createAuthenticate(parts, protocolDoor)

  return {
    add: (
      server: Server,
      url: `/${string}`,
      { onClientRefused, checksClient, countsIn = [] }: ClientRouteOptions,
      answer: (openid: OpenidRoom, sent: ClientRequest) => Promise<FastifyReply | Unconfirmed>,
    ) => {
      protocolDoor.answerPreflights(server, url)
      const answerClient = async (
        openid: OpenidRoom,
        sent: SentRequest,
        authenticated: Authenticated | undefined,
      ): Promise<FastifyReply> => {
        if (!authenticated) {
          onClientRefused?.(sent.form, sent.reply.statusCode)
          return sent.reply
        }
        const answered = await answer(openid, { ...sent, ...authenticated })
        return isRefused(answered) ? answerClient(openid, sent, await authenticateAgain(openid, sent)) : answered
      }
      const behindDoor = protocolDoor.through(async (openid, request, reply) => {
        const sent = { form: formOf(request), request, reply }
        return answerClient(openid, sent, await authenticate(openid, sent, checksClient?.(sent.form) ?? false))
      })
      route(server, `POST ${url}`, {
        ...behindDoor,
        config: { countsIn: ['client_failures', applicationLimiter.name, ...countsIn] },
      })
    },
  }
}
