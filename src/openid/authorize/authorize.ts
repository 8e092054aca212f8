import type { Static } from 'typebox'
import { isLoopbackRedirect, isRedirectAddress } from '../../applications/application-rules.js'
import { type Application, mayUse, noAccessReason, publicApplication } from '../../applications/applications.js'
import type { Consents } from '../../applications/used-applications.js'
import type { Authorization, AuthorizationDecisionBody, AuthorizationStep } from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import { applicationIdOf } from '../../contract/pages.js'
import type { FactorsRoom } from '../../factors/open-factors.js'
import { days, minutes } from '../../lib/durations.js'
import { createOncePerWindow, RecentMap } from '../../lib/recent.js'
import type { Transaction } from '../../platform/database/database.js'
import type { SessionsRoom } from '../../sessions/open-sessions.js'
import type { SessionCaller, TokenHolder } from '../../sessions/sessions.js'
import type { UsersRoom } from '../../users/open-users.js'
import type { Resource } from '../resources/resource.js'
import { commitForHolder, type TokenExchange } from '../token/authorizations.js'
import type { Codes } from '../token/codes.js'
import { sharedScopes } from '../token/user-claims.js'
import {
  accessDenied,
  answerBusy,
  beginRequest,
  codeLocation,
  errorLocation,
  keyOf,
  type PendingRequest,
  type RequestEnd,
  type RequestServices,
  takeRequest,
  type Visitor,
} from './begin-request.js'
import {
  hasProvenSince,
  isNotNamedUser,
  lacksConsent,
  lacksResource,
  nextQuestion,
  type SignedInUser,
  silentError,
  sufficientMethods,
} from './next-question.js'
import { beginsSession } from './request-steps.js'

export type UserServices = UsersRoom & SessionsRoom & FactorsRoom & { consents: Consents }

/**
 * Finds the user of a request in the database, because a token may still claim a right that was taken away. Undefined if the session has
 * ended or the account was disabled.
 */
export const findSignedInUser = async (
  { users, sessionLookups, factors, consents }: UserServices,
  caller: SessionCaller | undefined,
  clientId: string,
): Promise<SignedInUser | undefined> => {
  const user = caller && (await users.findEnabled(caller.userId))
  const proof = user && (await sessionLookups.proofOfCaller(caller))
  if (!user || !proof) return undefined
  const { id, username, name, email, groups } = user
  const methods = await factors.proofsFor(user)
  return { id, username, name, email, groups, proof, methods, agreedTo: await consents.scopesOf(id, clientId) }
}

type AuthorizeServices = TokenExchange &
  UserServices &
  RequestServices & {
    codes: Codes
    isNewReport: ReturnType<typeof createOncePerWindow>
  }

type Decision = Static<typeof AuthorizationDecisionBody>

const startAgain = (client: Application | undefined): Authorization => ({
  next: 'start_again',
  ...(client && { application: publicApplication(client) }),
})

const done = (client: Application, location: string): Authorization => ({
  next: 'done',
  application: publicApplication(client),
  location,
})

/**
 * `codes.issue` has locked the user's row. So a withdrawal of the consent came earlier and is seen here, or it waits for the lock and
 * then ends the new code.
 */
const stillAgrees = async (
  { consents }: AuthorizeServices,
  sql: Transaction,
  pending: PendingRequest,
  user: SignedInUser,
) => {
  const agreedTo = await consents.scopesOf(sql, user.id, pending.client.id)
  return !lacksConsent({ ...pending, user: { ...user, agreedTo } })
}

/** Makes one code for each request: one transaction uses the request up, stores the consent and writes the code. */
const makeCode = (
  services: AuthorizeServices,
  pending: PendingRequest,
  holder: TokenHolder,
  user: SignedInUser,
  hasAgreed: boolean,
) =>
  commitForHolder(services, holder, pending.visitor.origin, async (sql) => {
    const { codes, consents } = services
    const { client, request, visitor } = pending
    if (!(await takeRequest(services, sql, pending, user.id))) return refuse('over')
    const { redirectUri, codeChallenge, scopes, nonce, claims, acr } = request
    const content = {
      scopes,
      ...(nonce !== undefined && { nonce }),
      ...(claims && { claims }),
      ...(acr === '1' && { acr }),
    }
    const ownSession = beginsSession(request) ? { resourceId: request.resourceId } : undefined
    const codeRequest = { client, redirectUri, codeChallenge, content, ownSession, origin: visitor.origin }
    const outcome = await codes.issue(sql, holder, codeRequest)
    if (isRefused(outcome)) return outcome
    // For a resource the user is asked each time, so nothing is kept that would answer for them.
    if (hasAgreed && pending.resource) return outcome
    if (hasAgreed) sql.unawaited(consents.give(sql, user.id, client.id, sharedScopes(request)))
    else if (!(await stillAgrees(services, sql, pending, user))) return refuse('consent_withdrawn')
    return outcome
  })

/** For each refusal of `makeCode`, the question that is asked again: what the code needs was taken away in the meantime. */
const questionAfterRefusal = {
  not_authenticated: 'sign_in',
  theft: 'sign_in',
  no_access: 'no_access',
  consent_withdrawn: 'consent',
} as const

/** A program that sends its user back again and again causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000
const maxRemembered = 1_000

/** Records that a user has no access, so that operators find among the user's events why an application cannot be used. */
const reportNoAccess = async (
  { events, isNewReport }: AuthorizeServices,
  { client, visitor }: PendingRequest,
  { id: userId }: SignedInUser,
) => {
  if (!isNewReport(`${client.id} ${userId}`, reportWindow)) return
  const sessionId = visitor.caller?.sessionId
  const reason = noAccessReason(client.name)
  const event = { kind: 'application_refused', userId, ...(sessionId !== undefined && { sessionId }), reason } as const
  await events.record(event, visitor.origin)
}

const finishWithError = async (
  services: AuthorizeServices,
  pending: PendingRequest,
  end: RequestEnd,
  userId: string | undefined,
) => {
  const isTaken = await takeRequest(services, services.database, pending, userId)
  return isTaken ? done(pending.client, errorLocation(services, pending, end)) : startAgain(pending.client)
}

/** Where the answer goes, in the words of the page: to a program on this computer, to one that has claimed a link, or to a site. */
const destinationOf = (redirectUri: string) => {
  if (isLoopbackRedirect(redirectUri)) return { kind: 'computer' as const }
  const { protocol, host } = new URL(redirectUri)
  return /^https?:$/.test(protocol) ? { kind: 'site' as const, host } : { kind: 'program' as const, host: protocol }
}

/** What an application gets to know, where it is short enough to be read before it is agreed to. */
const sharedTexts = ({ username, name, email, groups }: SignedInUser): Record<string, string> => ({
  profile: name === null ? username : `${name}, ${username}`,
  email,
  ...(groups.length > 0 && { groups: groups.toSorted().join(', ') }),
})

const shownResource = ({ name, address, scopes }: Resource, asked: readonly string[] = []) => ({
  name,
  address,
  scopes: scopes.filter((scope) => asked.includes(scope.name)),
})

/** What the user is asked to agree to. */
const consentOf = async (
  { lifetimes, applications }: AuthorizeServices,
  { client, request, resource }: PendingRequest,
  user: SignedInUser,
) => ({
  icon: await applications.iconAddressOf(client.id),
  scopes: sharedScopes(request).filter((scope) => !resource?.scopes.some(({ name }) => name === scope)),
  shared: Object.fromEntries(
    Object.entries(sharedTexts(user)).filter(([scope]) => sharedScopes(request).some((each) => each === scope)),
  ),
  ...(beginsSession(request) && {
    ownSession: {
      ...(client.document !== undefined && { host: new URL(client.document).host }),
      destination: destinationOf(request.redirectUri),
      days: Math.max(1, Math.floor(lifetimes.session / days)),
    },
  }),
  ...(resource && { resource: shownResource(resource, request.scopes) }),
})

/** Which of the two the user may not use. */
const deniedBy = ({ client, resource }: PendingRequest, user: SignedInUser | undefined) =>
  user && mayUse(client, user.groups) && lacksResource(resource, user) ? 'resource' : 'application'

/** Asks the question, or with `prompt=none` answers with the error that stands for it. */
const ask = async (
  services: AuthorizeServices,
  pending: PendingRequest,
  user: SignedInUser | undefined,
  next: AuthorizationStep,
): Promise<Authorization> => {
  const { client, request, visitor, resource } = pending
  if (user && next === 'no_access') await reportNoAccess(services, pending, user)
  if (request.prompts.includes('none')) {
    const error = visitor.couldNotRenew ? 'temporarily_unavailable' : silentError(pending, next)
    const end = error === 'access_denied' ? accessDenied(next, deniedBy(pending, user)) : { error }
    return finishWithError(services, pending, end, user?.id)
  }
  return {
    request: request.id,
    next,
    application: publicApplication(client),
    ...(user && { user: { id: user.id, username: user.username } }),
    ...(user && next === 'consent' && (await consentOf(services, pending, user))),
    ...(resource &&
      next === 'no_access' &&
      deniedBy(pending, user) === 'resource' && { resource: shownResource(resource) }),
    ...(user && next === 'prove' && { methods: [...sufficientMethods({ ...pending, user })] }),
  }
}

const finishWithCode = async (
  services: AuthorizeServices,
  pending: PendingRequest,
  user: SignedInUser,
  hasAgreed: boolean,
): Promise<Authorization> => {
  const { client, visitor } = pending
  const { caller } = visitor
  if (!caller || isNotNamedUser({ ...pending, user }))
    return finishWithError(services, pending, { error: 'login_required' }, user.id)
  const made = await makeCode(services, pending, caller, user, hasAgreed)
  if (!isRefused(made)) return done(client, codeLocation(services, pending, made.code))
  if (made.refused === 'over') return startAgain(client)
  return ask(services, pending, user, questionAfterRefusal[made.refused])
}

/** Assigns the request to the first user who has proven their identity since the request began. */
const withOwner = async (
  { authorizationRequests }: AuthorizeServices,
  pending: PendingRequest,
  user: SignedInUser | undefined,
): Promise<PendingRequest> => {
  const { request } = pending
  if (!user || request.assignedUserId !== undefined || !hasProvenSince({ ...pending, user })) return pending
  const isAssigned = await authorizationRequests.assignTo(keyOf(pending), user.id)
  return isAssigned ? { ...pending, request: { ...request, assignedUserId: user.id } } : pending
}

/** Finds out what a request still needs: the next question, or the answer. */
const proceed = async (services: AuthorizeServices, found: PendingRequest): Promise<Authorization> => {
  const user = await findSignedInUser(services, found.visitor.caller, found.client.id)
  const pending = await withOwner(services, found, user)
  const next = nextQuestion(pending, user)
  return user && next === 'done' ? finishWithCode(services, pending, user, false) : ask(services, pending, user, next)
}

/** Undefined if the request is over, or an operator has removed its redirect URI or its resource since. */
const findPending = async (
  { applications, authorizationRequests, clientDocuments, resources }: AuthorizeServices,
  id: string,
  visitor: Visitor,
): Promise<PendingRequest | undefined> => {
  const request = await authorizationRequests.find({ id, browser: visitor.browser })
  const client = request && (await applications.find(request.clientId))
  if (!client || !isRedirectAddress(client, request.redirectUri)) return undefined
  if (client.document !== undefined && !clientDocuments.isAllowed(client.document)) return undefined
  const resource = request.resourceId === undefined ? undefined : await resources.find(request.resourceId)
  if (request.resourceId !== undefined && !resource) return undefined
  return { client, request, resource, visitor }
}

/** Takes the answer of the user. It counts for the question that is open, and only for the user who was shown on the page. */
const takeAnswer = async (
  services: AuthorizeServices,
  pending: PendingRequest,
  { user: shownUserId, answer }: Decision,
) => {
  const user = await findSignedInUser(services, pending.visitor.caller, pending.client.id)
  if (!user || user.id !== shownUserId) return proceed(services, pending)
  const next = nextQuestion(pending, user)
  if (next === 'consent' && answer === 'continue') return finishWithCode(services, pending, user, true)
  if (next !== 'choose' && answer === 'continue') return proceed(services, pending)
  await services.authorizationRequests.handOver(keyOf(pending), user.id)
  if (answer === 'deny') return finishWithError(services, pending, accessDenied(next, deniedBy(pending, user)), user.id)
  return proceed(services, { ...pending, request: { ...pending.request, assignedUserId: user.id } })
}

/** The request of a client, from its parameters to its answer. */
export const createAuthorize = (given: Omit<AuthorizeServices, 'rememberedClients' | 'isNewReport'>) => {
  const services = {
    ...given,
    rememberedClients: new RecentMap<string, Application>(maxRemembered),
    isNewReport: createOncePerWindow({ maxKeys: maxReported, clock: given.clock }),
  }
  const startAgainAt = async (id: string) => startAgain(await services.applications.find(applicationIdOf(id)))

  return {
    begin: async (parameters: string, visitor: Visitor) => {
      const begun = await beginRequest(services, parameters, visitor)
      if ('refused' in begun) return begun
      return 'request' in begun ? proceed(services, { ...begun, visitor }) : done(begun.client, begun.location)
    },

    /** Answers a request over the limit. Undefined if the client cannot be told. */
    answerBusy: async (parameters: string) => {
      const busy = await answerBusy(services, parameters)
      return busy && done(busy.client, busy.location)
    },

    resume: async (id: string, visitor: Visitor) => {
      const pending = await findPending(services, id, visitor)
      return pending ? proceed(services, pending) : startAgainAt(id)
    },

    answer: async (decision: Decision, visitor: Visitor) => {
      const pending = await findPending(services, decision.request, visitor)
      return pending ? takeAnswer(services, pending, decision) : startAgainAt(decision.request)
    },
  }
}
