import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  type ApplicationErrors,
  type NamedApplication,
  swappedSentence,
  unknownClientSentence,
} from '../applications/application-errors.js'
import type { ApplicationSecrets } from '../applications/application-secrets.js'
import type { Application, Applications } from '../applications/applications.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { type ProtocolError, sendProtocolError, sendRefusal } from '../http/errors.js'
import { type Form, formOf } from '../http/forms.js'
import { fixedLimiter, type LimiterName, type RouteLimiters } from '../http/limiters.js'
import { type CountedRequests, createOncePerWindow, sendLimited } from '../http/limits.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'
import type { Server } from '../http/server.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { isCleanText } from '../lib/strict-json.js'
import type { Events } from '../messages/events.js'
import { isSentByPage, type KnownClients } from './known-clients.js'
import type { ProtocolDoor } from './openid-door.js'

type Credentials = { id: string; secret: string | undefined }

/** A note for the operators of a known application. */
type Note = { application: NamedApplication; sentence: string }
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

export type ClientNouns = {
  applications: Applications
  applicationSecrets: ApplicationSecrets
  applicationErrors: Pick<ApplicationErrors, 'note' | 'noteUnknown'>
}

type Lookups = Pick<Applications, 'find'> & Pick<ApplicationSecrets, 'isRight' | 'findOwner'>

const lookupsOf = ({ applications, applicationSecrets }: ClientNouns): Lookups => ({
  ...applications,
  ...applicationSecrets,
})

const unknownOrWrong = 'The client is not known or its secret is wrong'

const judge = async (
  { id, secret }: Credentials,
  { find, isRight, findOwner }: Lookups,
): Promise<Application | Invalid> => {
  const application = await find(id)
  if (!application) {
    // As much work as for a wrong secret, so that the time does not show which applications exist.
    const owner = await findOwner(id)
    return invalidClient(unknownOrWrong, owner && { application: owner, sentence: swappedSentence })
  }
  const invalid = (description: string, sentence: string) => invalidClient(description, { application, sentence })
  if (application.kind !== 'web')
    return secret === undefined
      ? application
      : invalid('This client has no secret and must not send one', 'A secret was sent, and the application has none')
  if (secret === undefined) return invalid('This client must authenticate', 'No secret was sent')
  return (await isRight(id, secret)) ? application : invalid(unknownOrWrong, 'The secret is wrong')
}

/**
 * The subject by which the requests of a client are counted. Anyone can send the id of a client that has no secret, so such a client is
 * counted by network.
 */
const subjectOf = ({ id, kind }: Application, request: FastifyRequest) =>
  kind === 'web' ? `application:${id}` : `application:${id}:${clientNetwork(request)}`

const applicationLimiter = fixedLimiter('application')

type Reporting = { events: Pick<Events, 'record'>; clock: Clock }
type Dependencies = Reporting & {
  countedRequests: Pick<CountedRequests, 'count' | 'countAndFindExcess'>
  routeLimiters: Pick<RouteLimiters, 'client_failures'>
  knownClients: KnownClients
}

/** A program with a wrong secret tries again and again, but causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** The event, and the list of errors of the application, say which program it is. */
const createReport = ({ events, clock }: Reporting) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  // Ids can be invented. They have a memory of their own, and one place in it for each network: otherwise one client could fill the
  // memory, and no failure of a real application would be an event.
  const isNewNetwork = createOncePerWindow({ maxKeys: maxReported, clock })
  return async (
    { note }: Invalid,
    { id }: Credentials,
    { applicationErrors }: ClientNouns,
    request: FastifyRequest,
  ) => {
    const client = clientOf(request)
    const network = clientNetwork(request)
    if (note) applicationErrors.note(note.application, 'client', note.sentence, client)
    else applicationErrors.noteUnknown(id, undefined, client)
    if (
      note
        ? !isNew(`${network} ${note.application.id} ${note.sentence}`, reportWindow)
        : !isNewNetwork(network, reportWindow)
    )
      return
    const reason = note ? `${note.application.name}: ${note.sentence}` : unknownClientSentence(id)
    await events.record({ kind: 'application_refused', reason }, client)
  }
}

const maxRememberedNetworks = 10_000

/** The networks that have failed too often, until their time is over. */
const createLimitedNetworks = (clock: Clock) => {
  const limitedUntil = new Map<string, number>()
  const now = () => clock.now().getTime()
  return {
    has: (network: string) => (limitedUntil.get(network) ?? 0) > now(),
    add: (network: string, duration: number) => {
      limitedUntil.delete(network)
      limitedUntil.set(network, now() + duration)
      const [oldest] = limitedUntil.keys()
      if (limitedUntil.size > maxRememberedNetworks && oldest !== undefined) limitedUntil.delete(oldest)
    },
  }
}

const foreignPage = refuse('cross_site', { message: 'A page that does not belong to this client has sent the request' })

type ClientAuthentication = ReturnType<typeof createClientAuthentication>

/**
 * Authenticates the client that sends a request to the token endpoint, the revocation endpoint or the one for devices. A failure is counted
 * by network, apart from passwords; the right secret is let in even when that limit is reached.
 */
export const createClientAuthentication = ({
  countedRequests,
  routeLimiters: { client_failures: failuresLimiter },
  knownClients,
  events,
  clock,
}: Dependencies) => {
  const report = createReport({ events, clock })
  const limitedNetworks = createLimitedNetworks(clock)

  const refuseClient = async ({ fault }: Invalid, request: FastifyRequest, reply: FastifyReply) => {
    const network = clientNetwork(request)
    const excess = await countedRequests.countAndFindExcess(failuresLimiter, network, request, reply)
    if (excess) {
      limitedNetworks.add(network, excess.resetsIn)
      sendLimited(reply, failuresLimiter, excess)
    } else sendProtocolError(reply, fault, fault.error === 'invalid_client' ? 'basic' : undefined)
    return undefined
  }

  /** Whether a page of somebody else sends the request: nothing is counted for it, or it could use up the limits of its visitors. */
  const isOfForeignPage = async (credentials: Credentials | Invalid, nouns: ClientNouns, request: FastifyRequest) =>
    isSentByPage(request) && (isRefused(credentials) || !(await knownClients.isPageOf(credentials.id, nouns, request)))

  return {
    /** Returns the application; undefined if the request was answered with a refusal. */
    authenticate: async (form: Form, nouns: ClientNouns, request: FastifyRequest, reply: FastifyReply) => {
      const credentials = readCredentials(request.raw.headersDistinct.authorization ?? [], form)
      if (await isOfForeignPage(credentials, nouns, request)) {
        sendRefusal(reply, foreignPage)
        return undefined
      }
      if (isRefused(credentials)) return refuseClient(credentials, request, reply)

      const count = (application: Application) =>
        countedRequests.count(applicationLimiter, subjectOf(application, request), request, reply)
      const remembered = knownClients.lookups(nouns)
      const rememberedClient = await remembered.find(credentials.id)
      // Anyone can be a client without a secret, so it is counted before the database is asked.
      const isPublic = rememberedClient !== undefined && rememberedClient.kind !== 'web'
      if (isPublic && (await count(rememberedClient))) return undefined

      // Of a network that fails again and again, only what may be right reaches the database.
      const judged = limitedNetworks.has(clientNetwork(request)) ? await judge(credentials, remembered) : undefined
      const outcome = isRefused(judged) ? judged : await judge(credentials, lookupsOf(nouns))
      if (isRefused(outcome)) {
        await report(outcome, credentials, nouns, request)
        return refuseClient(outcome, request, reply)
      }
      if (!isPublic && (await count(outcome))) return undefined
      return outcome
    },
  }
}

export type ClientRouteParts<Nouns extends ClientNouns> = {
  protocolDoor: ProtocolDoor<Nouns>
  clientAuthentication: ClientAuthentication
  /** Called for a request whose client was refused, with the status of the answer. */
  onClientRefused?: (form: Form, status: number) => void
  /** Further limiters in which the handler counts. */
  countsIn?: readonly LimiterName[]
}

/** The request of a client that has authenticated. */
export type ClientRequest = { application: Application; form: Form; request: FastifyRequest; reply: FastifyReply }

/** Adds a route that takes the form of an application after the application has authenticated. */
export const addClientRoute = <Nouns extends ClientNouns>(
  server: Server,
  url: string,
  { protocolDoor, clientAuthentication, onClientRefused, countsIn = [] }: ClientRouteParts<Nouns>,
  answer: (nouns: Nouns, sent: ClientRequest) => Promise<FastifyReply>,
) => {
  protocolDoor.answerPreflights(server, url)
  const { onSend, handler } = protocolDoor.through(async (nouns, request, reply) => {
    const form = formOf(request)
    const application = await clientAuthentication.authenticate(form, nouns, request, reply)
    if (application) return answer(nouns, { application, form, request, reply })
    onClientRefused?.(form, reply.statusCode)
    return reply
  })
  server.route({
    method: 'POST',
    url,
    schema: { hide: true },
    config: { countsIn: ['client_failures', 'application', ...countsIn] },
    onSend,
    handler,
  })
}
