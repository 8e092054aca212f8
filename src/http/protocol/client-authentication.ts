import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Application } from '../../domain/applications/application.js'
import type { ApplicationErrors } from '../../domain/applications/application-errors.js'
import type { ApplicationSecrets } from '../../domain/applications/application-secrets.js'
import type { Applications } from '../../domain/applications/applications.js'
import { quoted } from '../../domain/applications/quoted.js'
import type { Events } from '../../domain/events/events.js'
import { limiters } from '../../domain/limiters/limiters.js'
import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { isCleanText } from '../../lib/strict-json.js'
import { clientNetwork, clientOf } from '../client.js'
import type { CountedRequests } from '../limits/counted-requests.js'
import type { Limiter, RouteLimiters } from '../limits/limiter.js'
import { createOncePerWindow } from '../once-per-window.js'
import type { Form } from './forms.js'
import { type ProtocolError, sendProtocolError } from './protocol-errors.js'

type Credentials = { id: string; secret: string | undefined }

/** A note for the operators of a known application. */
type Note = { application: Application; sentence: string }
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
const readCredentials = (headers: readonly string[], { values }: Form): Credentials | Invalid => {
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
  applications: Pick<Applications, 'find' | 'list'>
  applicationSecrets: Pick<ApplicationSecrets, 'isRight'>
  applicationErrors: Pick<ApplicationErrors, 'note' | 'noteUnknown'>
}

const judge = async (
  { id, secret }: Credentials,
  { applications, applicationSecrets }: ClientNouns,
): Promise<Application | Invalid> => {
  const application = await applications.find(id)
  // The secret is compared for an unknown application, too, so that the time does not show which applications exist.
  const isRight = secret !== undefined && (await applicationSecrets.isRight(id, secret))
  if (!application) return invalidClient('The client is not known or its secret is wrong')
  const invalid = (description: string, sentence: string) => invalidClient(description, { application, sentence })
  if (application.kind !== 'web')
    return secret === undefined
      ? application
      : invalid('This client has no secret and must not send one', 'A secret was sent, and the application has none')
  if (secret === undefined) return invalid('This client must authenticate', 'No secret was sent')
  return isRight ? application : invalid('The client is not known or its secret is wrong', 'The secret is wrong')
}

/**
 * The subject by which the requests of a client are counted. Anyone can send the id of a client that has no secret, so such a client is
 * counted by network.
 */
const subjectOf = ({ id, kind }: Application, request: FastifyRequest) =>
  kind === 'web' ? `application:${id}` : `application:${id}:${clientNetwork(request)}`

const applicationLimiter: Limiter = {
  name: 'application',
  limit: limiters.application.limit,
  code: 'too_many_requests',
}

type Reporting = { events: Pick<Events, 'record'>; clock: Clock }
type Dependencies = Reporting & { countedRequests: CountedRequests; routeLimiters: Pick<RouteLimiters, 'login'> }

/** A program with a wrong secret tries again and again, but causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/**
 * Failures of a program keep its whole network from signing in with passwords. So the event, and the list of errors of the application,
 * say which program it is.
 */
const createReport = ({ events, clock }: Reporting) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  return async (
    { note }: Invalid,
    { id }: Credentials,
    nouns: ClientNouns,
    request: FastifyRequest,
    isNetworkLimited: boolean,
  ) => {
    const client = clientOf(request)
    const network = clientNetwork(request)
    if (note) nouns.applicationErrors.note(note.application, 'client', note.sentence, client)
    else nouns.applicationErrors.noteUnknown(id, client)
    if (note && isNetworkLimited)
      nouns.applicationErrors.note(note.application, 'client', networkLimitedSentence(network), client)
    if (!isNew(`${network} ${note?.sentence ?? ''}${id}`, reportWindow)) return
    const reason = note ? `${note.application.name}: ${note.sentence}` : `The client_id ${quoted(id)} is not known`
    await events.record({ kind: 'application_refused', reason }, client)
  }
}

const tooManyWrongMessage =
  'Too many wrong secrets of clients, or passwords, came from this network. Correct the secret: a right one works at once'

const networkLimitedSentence = (network: string) =>
  `Such requests came so often from ${network} that nobody there can sign in with a password for some minutes. Once the secret is right, run latchkey limits clear --network ${network}; without REDIS_URL, restart the service`

export type ClientAuthentication = ReturnType<typeof createClientAuthentication>

/**
 * Authenticates the client that sends a request to the token endpoint or the revocation endpoint. A failure counts as a failed sign-in
 * of its network, and is counted before the secret is compared; a client with the right secret is let in even when that limit is
 * reached.
 */
export const createClientAuthentication = ({
  countedRequests,
  routeLimiters: { login },
  events,
  clock,
}: Dependencies) => {
  const wrongSecretsLimiter: Limiter = { ...login, protocolMessage: tooManyWrongMessage }
  const refuseClient = async (
    { fault }: Invalid,
    isNetworkLimited: boolean,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    if (isNetworkLimited && (await countedRequests.count(wrongSecretsLimiter, clientNetwork(request), request, reply)))
      return undefined
    sendProtocolError(reply, fault, fault.error === 'invalid_client' ? 'basic' : undefined)
    return undefined
  }

  const report = createReport({ events, clock })

  return {
    /** Returns the application; undefined if the request was answered with a refusal. */
    authenticate: async (form: Form, nouns: ClientNouns, request: FastifyRequest, reply: FastifyReply) => {
      const reservation = await countedRequests.reserve(login, clientNetwork(request), reply)
      const [repeated] = form.repeated
      const credentials =
        repeated === undefined
          ? readCredentials(request.raw.headersDistinct.authorization ?? [], form)
          : invalidRequest('A parameter was sent twice')
      const outcome = isRefused(credentials) ? credentials : await judge(credentials, nouns)
      if (isRefused(outcome)) {
        if (!isRefused(credentials)) await report(outcome, credentials, nouns, request, !reservation.granted)
        return refuseClient(outcome, !reservation.granted, request, reply)
      }
      countedRequests.refundDespiteRefusal(request)
      const limited = await countedRequests.count(applicationLimiter, subjectOf(outcome, request), request, reply)
      return limited ? undefined : outcome
    },
  }
}
