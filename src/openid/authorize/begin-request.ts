import type { ApplicationErrors } from '../../applications/application-errors.js'
import { isRedirectAddress } from '../../applications/application-rules.js'
import type { ApplicationSecrets } from '../../applications/application-secrets.js'
import { type Application, type Applications, unregisteredSentence } from '../../applications/applications.js'
import type { AuthorizationStep } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import { type Sql, StoreUnavailable } from '../../platform/database/database.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { IdTokens } from '../token/id-tokens.js'
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-requests.js'
import {
  type AuthorizationError,
  areClean,
  type CheckedRequest,
  checkRequest,
  isStepError,
  listOf,
  type Parameters,
  readParameters,
  type StepError,
} from './request-steps.js'

type BeginRequestDependencies = {
  applications: Pick<Applications, 'find'>
  applicationSecrets: Pick<ApplicationSecrets, 'findOwner'>
  applicationErrors: Pick<ApplicationErrors, 'note' | 'noteUnknown'>
  authorizationRequests: Pick<AuthorizationRequests, 'begin' | 'beginSilently'>
  idTokens: Pick<IdTokens, 'readHint'>
  issuer: string
}

/** The destination of an answer: a registered redirect address, with the `state` of the request (RFC 6749, 4.1.2.1). */
export type AnswerAddress = { redirectAddress: string; state?: string | undefined }

/** `iss` is in every answer (RFC 9207). A registered address is used as it is, byte for byte. */
const answerLocation = (
  { redirectAddress, state }: AnswerAddress,
  answer: { code: string } | { error: AuthorizationError; error_description?: string },
  iss: string,
) => {
  const query = new URLSearchParams({ ...answer, ...(state !== undefined && { state }), iss })
  return `${redirectAddress}${redirectAddress.includes('?') ? '&' : '?'}${query}`
}

type Sender = Pick<Visitor, 'browser' | 'client'>

const busyMessage = 'too many requests from this network or user, try again in some minutes'

const maxRemembered = 1_000

/** Remembers applications that have asked before, so that they get an answer while the database is away. */
const createRememberedApplications = () => {
  const rememberedApplications = new Map<string, Application>()
  return {
    get: (id: string) => rememberedApplications.get(id),
    add: (application: Application) => {
      rememberedApplications.delete(application.id)
      rememberedApplications.set(application.id, application)
      const [oldest] = rememberedApplications.keys()
      if (rememberedApplications.size > maxRemembered && oldest !== undefined) rememberedApplications.delete(oldest)
    },
  }
}

const redirectSentence = ({ redirectAddresses }: Application, sent: string | undefined) =>
  sent === undefined
    ? 'redirect_uri is missing, or there more than once'
    : unregisteredSentence('redirect_uri', sent, redirectAddresses)

/**
 * Undefined if the address is not registered. Then nothing may be sent to the application (RFC 6749, 4.1.2.1), and the user sees a
 * page.
 */
const addressOf = (application: Application, { values }: Parameters): AnswerAddress | undefined => {
  const redirectAddress = values.get('redirect_uri')
  const isRegistered = redirectAddress !== undefined && isRedirectAddress(application, redirectAddress)
  return isRegistered ? { redirectAddress, state: values.get('state') } : undefined
}

/** The user whom the application names. A hint that we did not issue, or issued to another application, is ignored. */
const createNamedUser =
  ({ idTokens }: Pick<BeginRequestDependencies, 'idTokens'>) =>
  async (application: Application, { user, hint }: CheckedRequest) => {
    if (user !== undefined || hint === undefined) return user
    const hintContent = await idTokens.readHint(hint)
    return hintContent?.applicationId === application.id ? hintContent.userId : undefined
  }

const createErrorAt =
  (issuer: string) =>
  (application: Application, address: AnswerAddress, { error, description }: StepError) => ({
    application,
    location: answerLocation(address, { error, error_description: description }, issuer),
  })

/** The URL with the error for a request over the limit. Undefined if its redirect address is not registered. */
const createAnswerBusy = ({ applications, issuer }: Pick<BeginRequestDependencies, 'applications' | 'issuer'>) => {
  const errorAt = createErrorAt(issuer)
  return async (text: string) => {
    const parameters = readParameters(text)
    const clientId = areClean(parameters) ? parameters.values.get('client_id') : undefined
    const application = clientId === undefined ? undefined : await applications.find(clientId)
    const address = application && addressOf(application, parameters)
    return address && errorAt(application, address, { error: 'temporarily_unavailable', description: busyMessage })
  }
}

/** An application that asks with `prompt=none` gets an answer even while the database is away. */
const createAnswerWithoutDatabase = (
  rememberedApplications: ReturnType<typeof createRememberedApplications>,
  issuer: string,
) => {
  const errorAt = createErrorAt(issuer)
  return (parameters: Parameters) => {
    const application = rememberedApplications.get(parameters.values.get('client_id') ?? '')
    const address = application && addressOf(application, parameters)
    if (!address || !listOf(parameters.values.get('prompt')).includes('none')) return undefined
    return errorAt(application, address, { error: 'temporarily_unavailable', description: 'try again in a moment' })
  }
}

/** Checks the parameters of a new request, and stores it if its user may be asked something. */
export const createBeginRequest = (deps: BeginRequestDependencies) => {
  const { applications, applicationSecrets, applicationErrors, authorizationRequests, issuer } = deps
  const rememberedApplications = createRememberedApplications()
  const namedUser = createNamedUser(deps)

  const errorAt = createErrorAt(issuer)

  const beginAt = async (application: Application, address: AnswerAddress, parameters: Parameters, sender: Sender) => {
    const checked = checkRequest(application, parameters)
    if (isStepError(checked)) {
      applicationErrors.note(application, 'request', `${checked.error}: ${checked.description}`, sender.client)
      return errorAt(application, address, checked)
    }
    const user = await namedUser(application, checked)
    if (checked.prompts.includes('none') && checked.hint !== undefined && user === undefined)
      return errorAt(application, address, { error: 'login_required', description: 'id_token_hint is not valid' })
    const { hint: _, ...rest } = checked
    const newRequest = { ...rest, user, redirectAddress: address.redirectAddress }
    const request = checked.prompts.includes('none')
      ? await authorizationRequests.beginSilently(application.id, newRequest)
      : await authorizationRequests.begin(application.id, sender.browser, newRequest)
    return { application, request }
  }

  const begin = async (parameters: Parameters, sender: Sender) => {
    const clientId = parameters.values.get('client_id')
    const application = clientId === undefined ? undefined : await applications.find(clientId)
    if (!application) {
      const owner = clientId === undefined ? undefined : await applicationSecrets.findOwner(clientId)
      applicationErrors.noteUnknown(clientId ?? '', owner, sender.client)
      return refuse('unknown_application')
    }
    rememberedApplications.add(application)
    const address = addressOf(application, parameters)
    if (address) return beginAt(application, address, parameters, sender)
    const sentence = redirectSentence(application, parameters.values.get('redirect_uri'))
    applicationErrors.note(application, 'redirect_address', sentence, sender.client)
    return refuse('redirect_not_registered')
  }

  const answerWithoutDatabase = createAnswerWithoutDatabase(rememberedApplications, issuer)

  return {
    begin: async (text: string, sender: Sender) => {
      const parameters = readParameters(text)
      if (!areClean(parameters)) return refuse('bad_request')
      try {
        return await begin(parameters, sender)
      } catch (error) {
        const answer = error instanceof StoreUnavailable ? answerWithoutDatabase(parameters) : undefined
        if (!answer) throw error
        return answer
      }
    },

    answerBusy: createAnswerBusy(deps),
  }
}

export type RequestEnd = { error: AuthorizationError; description?: string }

/** `step`: the question that was open when the request ended. */
export const accessDenied = (step: AuthorizationStep): RequestEnd => ({
  error: 'access_denied',
  description: step === 'no_access' ? 'The user has no access to this application' : 'The user has declined',
})

export type Answers = ReturnType<typeof createAnswers>

type AnswersDependencies = { applicationErrors: Pick<ApplicationErrors, 'note'>; issuer: string }

/** The URLs to which the browser takes the answer to a request. */
export const createAnswers = ({ applicationErrors, issuer }: AnswersDependencies) => ({
  /** Ends the request without a code. This is counted as a normal end and not as an error of the application. */
  withError: (application: Application, address: AnswerAddress, { error, description }: RequestEnd) => {
    applicationErrors.note(application, 'normal_end', description === undefined ? error : `${error}: ${description}`)
    return answerLocation(
      address,
      { error, ...(description !== undefined && { error_description: description }) },
      issuer,
    )
  },
  withCode: (address: AnswerAddress, code: string) => answerLocation(address, { code }, issuer),
})

/** The browser that brings the request of an application, and the session in it. */
export type Visitor = {
  /** The value of the cookie that ties requests to their browser. */
  browser: string
  caller: TokenHolder | undefined
  /** There is a session, but its tokens have expired and could not be renewed. */
  couldNotRenew: boolean
  client: Client
}

/** A request of an application, with the browser that brings it. */
export type PendingRequest = { application: Application; request: AuthorizationRequest; visitor: Visitor }

export const keyOf = ({ request, visitor }: PendingRequest) => ({ id: request.id, browser: visitor.browser })

/** Uses the request up. A request that is not stored can only be answered in the HTTP request that brought it. */
export const createTake =
  (authorizationRequests: Pick<AuthorizationRequests, 'take'>) =>
  async (sql: Sql, pending: PendingRequest, userId: string | undefined) =>
    !pending.request.isStored || (await authorizationRequests.take(sql, keyOf(pending), userId))
