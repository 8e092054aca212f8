import type { ApplicationErrors } from '../../applications/application-errors.js'
import { isRedirectAddress } from '../../applications/application-rules.js'
import {
  type Application,
  type ApplicationSecrets,
  type Applications,
  clientIdOf,
  unregisteredSentence,
} from '../../applications/applications.js'
import type { AuthorizationStep } from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { type Sql, StoreUnavailable } from '../../platform/database/database.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { ClientDocuments, ReserveFetch } from '../client-documents/client-documents.js'
import { isDocumentId } from '../client-documents/document.js'
import type { Resource } from '../resources/resource.js'
import type { Resources } from '../resources/resources.js'
import type { IdTokens } from '../token/id-tokens.js'
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-requests.js'
import {
  type AuthorizationError,
  areClean,
  beginsSession,
  type CheckedRequest,
  checkRequest,
  isStepError,
  listOf,
  type Parameters,
  readParameters,
  type StepError,
} from './request-steps.js'

/** The browser that brings the request of a client, and the session in it. */
export type Visitor = {
  /** The value of the cookie that ties requests to their browser. */
  browser: string
  caller: TokenHolder | undefined
  /** There is a session, but its tokens have expired and could not be renewed. */
  couldNotRenew: boolean
  /** Counts the fetch of a document that the request makes necessary. */
  reserveFetch: ReserveFetch
  origin: RequestOrigin
}

/** A request of a client, with the browser that brings it. */
export type PendingRequest = {
  client: Application
  request: AuthorizationRequest
  /** What the tokens will be for, if the request names it. */
  resource: Resource | undefined
  visitor: Visitor
}

export type RequestServices = {
  applications: Applications
  applicationSecrets: ApplicationSecrets
  applicationErrors: ApplicationErrors
  authorizationRequests: AuthorizationRequests
  idTokens: IdTokens
  resources: Resources
  clientDocuments: ClientDocuments
  /** Whether every session needs a second factor. */
  secondFactorRequired: () => boolean
  issuer: string
  /** Clients that have asked before, so that they get an answer while the database is away. */
  rememberedClients: Map<string, Application>
}

/** The destination of an answer: a registered redirect address, with the `state` of the request (RFC 6749, 4.1.2.1). */
type AnswerAddress = { redirectUri: string; state?: string | undefined }

/** `iss` is in every answer (RFC 9207). A registered address is used as it is, byte for byte. */
const answerLocation = (
  { redirectUri, state }: AnswerAddress,
  answer: { code: string } | { error: AuthorizationError; error_description?: string },
  iss: string,
) => {
  const query = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss })
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`
}

/** The URL with the error for the client whose request has a fault. */
const errorAt = (
  { issuer }: RequestServices,
  client: Application,
  address: AnswerAddress,
  { error, description }: StepError,
) => ({ client, location: answerLocation(address, { error, error_description: description }, issuer) })

const redirectSentence = ({ redirectAddresses }: Application, sent: string | undefined) =>
  sent === undefined
    ? 'redirect_uri is missing, or there more than once'
    : unregisteredSentence('redirect_uri', sent, redirectAddresses)

/**
 * Undefined if the address is not registered. Then nothing may be sent to the application (RFC 6749, 4.1.2.1), and the user sees a
 * page.
 */
const addressOf = (client: Application, { values }: Parameters): AnswerAddress | undefined => {
  const redirectUri = values.get('redirect_uri')
  const isRegistered = redirectUri !== undefined && isRedirectAddress(client, redirectUri)
  return isRegistered ? { redirectUri, state: values.get('state') } : undefined
}

/** The user whom the client names. A hint that we did not issue, or issued to another client, is ignored. */
const namedUser = async ({ idTokens }: RequestServices, client: Application, { user, hint }: CheckedRequest) => {
  if (user !== undefined || hint === undefined) return user
  const hintContent = await idTokens.readHint(hint)
  return hintContent?.clientId === clientIdOf(client) ? hintContent.userId : undefined
}

/** A session of its own needs the second factor of an account that has one: a trusted browser is not enough. */
const demandsOfOwnSession = (
  { acr }: CheckedRequest | Omit<CheckedRequest, 'hint'>,
  secondFactorRequired: boolean,
) => ({
  prefersTwoFactors: true,
  acr: acr ?? (secondFactorRequired ? ('2' as const) : undefined),
})

/** Stores the request if its user may be asked something. */
const beginAt = async (
  services: RequestServices,
  client: Application,
  address: AnswerAddress,
  parameters: Parameters,
  { browser, origin }: Visitor,
) => {
  const { applicationErrors, authorizationRequests, resources, secondFactorRequired } = services
  const named = parameters.values.get('resource')
  const resource = named === undefined ? undefined : await resources.findByAddress(named)
  const checked = checkRequest(client, parameters, named === undefined ? undefined : (resource ?? 'unknown'))
  if (isStepError(checked)) {
    applicationErrors.note(client, 'request', `${checked.error}: ${checked.description}`, origin)
    return errorAt(services, client, address, checked)
  }
  const isSilent = checked.prompts.includes('none')
  const user = await namedUser(services, client, checked)
  if (isSilent && checked.hint !== undefined && user === undefined)
    return errorAt(services, client, address, { error: 'login_required', description: 'id_token_hint is not valid' })
  const { hint: _, ...rest } = checked
  const newRequest = {
    ...rest,
    ...(beginsSession(rest) && demandsOfOwnSession(rest, secondFactorRequired())),
    user,
    redirectUri: address.redirectUri,
  }
  const request = isSilent
    ? await authorizationRequests.beginSilently(client.id, newRequest)
    : await authorizationRequests.begin(client.id, browser, newRequest)
  return { client, request, resource }
}

const findClient = async ({ applications, clientDocuments }: RequestServices, clientId: string, visitor: Visitor) =>
  isDocumentId(clientId)
    ? clientDocuments.find(clientId, visitor.reserveFetch, visitor.origin)
    : applications.find(clientId)

const begin = async (services: RequestServices, parameters: Parameters, visitor: Visitor) => {
  const { applicationSecrets, applicationErrors, rememberedClients } = services
  const { origin } = visitor
  const clientId = parameters.values.get('client_id')
  const client = clientId === undefined ? undefined : await findClient(services, clientId, visitor)
  if (client && isRefused(client)) return client
  if (!client) {
    const owner = clientId === undefined ? undefined : await applicationSecrets.findOwner(clientId)
    applicationErrors.noteUnknown(clientId ?? '', owner, origin)
    return refuse('unknown_application')
  }
  rememberedClients.set(clientIdOf(client), client)
  const address = addressOf(client, parameters)
  if (address) return beginAt(services, client, address, parameters, visitor)
  const sentence = redirectSentence(client, parameters.values.get('redirect_uri'))
  applicationErrors.note(client, 'redirect_address', sentence, origin)
  return refuse('redirect_not_registered')
}

/** A client that asks with `prompt=none` gets an answer even while the database is away. */
const answerWithoutDatabase = (services: RequestServices, parameters: Parameters) => {
  const client = services.rememberedClients.get(parameters.values.get('client_id') ?? '')
  const address = client && addressOf(client, parameters)
  if (!address || !listOf(parameters.values.get('prompt')).includes('none')) return undefined
  const fault = { error: 'temporarily_unavailable', description: 'try again in a moment' } as const
  return errorAt(services, client, address, fault)
}

/** Checks the parameters of a new request. */
export const beginRequest = async (services: RequestServices, text: string, visitor: Visitor) => {
  const parameters = readParameters(text)
  if (!areClean(parameters)) return refuse('bad_request')
  try {
    return await begin(services, parameters, visitor)
  } catch (error) {
    const answer = error instanceof StoreUnavailable ? answerWithoutDatabase(services, parameters) : undefined
    if (!answer) throw error
    return answer
  }
}

const busyMessage = 'too many requests from this network or user, try again in some minutes'

/** The URL with the error for a request over the limit. Undefined if its redirect URI is not registered. */
export const answerBusy = async (services: RequestServices, text: string) => {
  const parameters = readParameters(text)
  const clientId = areClean(parameters) ? parameters.values.get('client_id') : undefined
  const client = clientId === undefined ? undefined : await services.applications.find(clientId)
  const address = client && addressOf(client, parameters)
  const fault = { error: 'temporarily_unavailable', description: busyMessage } as const
  return address && errorAt(services, client, address, fault)
}

export type RequestEnd = { error: AuthorizationError; description?: string }

/** `step`: the question that was open when the request ended. */
export const accessDenied = (
  step: AuthorizationStep,
  what: 'application' | 'resource' = 'application',
): RequestEnd => ({
  error: 'access_denied',
  description: step === 'no_access' ? `The user has no access to this ${what}` : 'The user has declined',
})

/** Ends the request without a code. This is counted as a normal end and not as an error of the application. */
export const errorLocation = (
  { applicationErrors, issuer }: RequestServices,
  { client, request }: PendingRequest,
  { error, description }: RequestEnd,
) => {
  applicationErrors.note(client, 'normal_end', description === undefined ? error : `${error}: ${description}`)
  const answer = { error, ...(description !== undefined && { error_description: description }) }
  return answerLocation(request, answer, issuer)
}

export const codeLocation = ({ issuer }: RequestServices, { request }: PendingRequest, code: string) =>
  answerLocation(request, { code }, issuer)

export const keyOf = ({ request, visitor }: PendingRequest) => ({ id: request.id, browser: visitor.browser })

/** Uses the request up. A request that is not stored can only be answered in the HTTP request that brought it. */
export const takeRequest = async (
  { authorizationRequests }: RequestServices,
  sql: Sql,
  pending: PendingRequest,
  userId: string | undefined,
) => !pending.request.isStored || (await authorizationRequests.take(sql, keyOf(pending), userId))
