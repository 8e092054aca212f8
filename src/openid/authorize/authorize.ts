import { isRedirectAddress } from '../../applications/application-rules.js'
import {
  type Application,
  type Applications,
  noAccessReason,
  publicApplication,
} from '../../applications/applications.js'
import type { Consents } from '../../applications/used-applications.js'
import type { Authorization, AuthorizationStep } from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import { applicationIdOf } from '../../contract/pages.js'
import type { Proofs } from '../../factors/second-factors.js'
import { createOncePerWindow } from '../../http/limits.js'
import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Events } from '../../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../../platform/database/database.js'
import type { EndStolen } from '../../sessions/rotation.js'
import type { SessionLookups } from '../../sessions/session-lookups.js'
import type { SessionCaller, TokenHolder } from '../../sessions/sessions.js'
import type { Users } from '../../users/users.js'
import type { Authorizations } from '../token/authorizations.js'
import { sharedScopes } from '../token/user-claims.js'
import type { AuthorizationRequests } from './authorization-requests.js'
import {
  type Answers,
  accessDenied,
  type createBeginRequest,
  createTake,
  keyOf,
  type PendingRequest,
  type RequestEnd,
  type Visitor,
} from './begin-request.js'
import {
  hasProvenSince,
  isNotNamedUser,
  lacksConsent,
  nextQuestion,
  type SignedInUser,
  silentError,
  sufficientMethods,
} from './next-question.js'

export type SignedInUsers = ReturnType<typeof createSignedInUsers>

type SignedInUsersDependencies = {
  users: Pick<Users, 'findEnabled'>
  sessionLookups: Pick<SessionLookups, 'proofOfCaller'>
  proofs: Pick<Proofs, 'methodsFor'>
  consents: Pick<Consents, 'scopesOf'>
}

/** Finds the user of a request in the database, because a token may still claim a right that was taken away. */
export const createSignedInUsers = ({ users, sessionLookups, proofs, consents }: SignedInUsersDependencies) => ({
  /** Undefined if the session has ended or the account was disabled. */
  find: async (caller: SessionCaller | undefined, applicationId: string): Promise<SignedInUser | undefined> => {
    const user = caller && (await users.findEnabled(caller.userId))
    const proof = user && (await sessionLookups.proofOfCaller(caller))
    if (!user || !proof) return undefined
    const { id, username, groups } = user
    const methods = await proofs.methodsFor(user)
    return { id, username, groups, proof, methods, agreedTo: await consents.scopesOf(id, applicationId) }
  },
})

type AuthorizeDependencies = {
  database: Database
  applications: Pick<Applications, 'find'>
  authorizationRequests: AuthorizationRequests
  signedInUsers: SignedInUsers
  beginRequest: ReturnType<typeof createBeginRequest>
  answers: Answers
  makeCode: MakeCode
  reportNoAccess: ReportNoAccess
}

type Decision = { request: string; user: string; answer: 'continue' | 'deny' }

const startAgain = (application: Application | undefined): Authorization => ({
  next: 'start_again',
  ...(application && { application: publicApplication(application) }),
})

const done = (application: Application, location: string): Authorization => ({
  next: 'done',
  application: publicApplication(application),
  location,
})

/** For each refusal of `makeCode`, the question that is asked again: what the code needs was taken away in the meantime. */
const questionAfterRefusal = {
  not_authenticated: 'sign_in',
  theft: 'sign_in',
  no_access: 'no_access',
  consent_withdrawn: 'consent',
} as const

/** Ends a request with an error or a code, or asks the next question. */
const createFinish = (deps: Omit<AuthorizeDependencies, 'applications' | 'signedInUsers' | 'beginRequest'>) => {
  const { database, makeCode, answers, reportNoAccess } = deps
  const take = createTake(deps.authorizationRequests)

  const withError = async (pending: PendingRequest, end: RequestEnd, userId: string | undefined) => {
    const { application, request } = pending
    const isTaken = await take(database, pending, userId)
    return isTaken ? done(application, answers.withError(application, request, end)) : startAgain(application)
  }

  /** Asks the question, or with `prompt=none` answers with the error that stands for it. */
  const withQuestion = async (
    pending: PendingRequest,
    user: SignedInUser | undefined,
    next: AuthorizationStep,
  ): Promise<Authorization> => {
    const { application, request, visitor } = pending
    if (user && next === 'no_access') await reportNoAccess(pending, user)
    if (request.prompts.includes('none')) {
      const error = visitor.couldNotRenew ? 'temporarily_unavailable' : silentError(pending, next)
      return withError(pending, error === 'access_denied' ? accessDenied(next) : { error }, user?.id)
    }
    return {
      request: request.id,
      next,
      application: publicApplication(application),
      ...(user && { user: { id: user.id, username: user.username } }),
      ...(next === 'consent' && { scopes: sharedScopes(request) }),
      ...(user && next === 'prove' && { methods: [...sufficientMethods({ ...pending, user })] }),
    }
  }

  const withCode = async (pending: PendingRequest, user: SignedInUser, hasAgreed: boolean): Promise<Authorization> => {
    const { application, request, visitor } = pending
    const { caller } = visitor
    if (!caller || isNotNamedUser({ ...pending, user })) return withError(pending, { error: 'login_required' }, user.id)
    const made = await makeCode(pending, caller, user, hasAgreed)
    if (!isRefused(made)) return done(application, answers.withCode(request, made.code))
    if (made.refused === 'over') return startAgain(application)
    return withQuestion(pending, user, questionAfterRefusal[made.refused])
  }

  return { withError, withQuestion, withCode }
}

type Finish = ReturnType<typeof createFinish>
type ProceedDependencies = Pick<AuthorizeDependencies, 'authorizationRequests' | 'signedInUsers'> & { finish: Finish }

/** Finds out what a request still needs, and asks for it. */
const createProceed = ({ authorizationRequests, signedInUsers, finish }: ProceedDependencies) => {
  /** Assigns the request to the first user who has proven their identity since the request began. */
  const withOwner = async (pending: PendingRequest, user: SignedInUser | undefined): Promise<PendingRequest> => {
    const { request } = pending
    if (!user || request.assignedUserId !== undefined || !hasProvenSince({ ...pending, user })) return pending
    const isAssigned = await authorizationRequests.assignTo(keyOf(pending), user.id)
    return isAssigned ? { ...pending, request: { ...request, assignedUserId: user.id } } : pending
  }

  /** The next question, or the answer. */
  return async (found: PendingRequest): Promise<Authorization> => {
    const user = await signedInUsers.find(found.visitor.caller, found.application.id)
    const pending = await withOwner(found, user)
    const next = nextQuestion(pending, user)
    return user && next === 'done' ? finish.withCode(pending, user, false) : finish.withQuestion(pending, user, next)
  }
}

/** The request of an application, from its parameters to its answer. */
export const createAuthorize = (deps: AuthorizeDependencies) => {
  const { applications, authorizationRequests, signedInUsers, beginRequest } = deps
  const finish = createFinish(deps)
  const proceed = createProceed({ authorizationRequests, signedInUsers, finish })

  /** Undefined if the request is over, or an operator has removed its redirect address since. */
  const find = async (id: string, visitor: Visitor) => {
    const request = await authorizationRequests.find({ id, browser: visitor.browser })
    const application = request && (await applications.find(request.applicationId))
    if (!application || !isRedirectAddress(application, request.redirectAddress)) return undefined
    return { application, request, visitor }
  }

  const startAgainAt = async (id: string) => startAgain(await applications.find(applicationIdOf(id)))

  return {
    begin: async (parameters: string, visitor: Visitor) => {
      const begun = await beginRequest.begin(parameters, visitor)
      if ('refused' in begun) return begun
      return 'request' in begun ? proceed({ ...begun, visitor }) : done(begun.application, begun.location)
    },

    /** Answers a request over the limit. Undefined if the application cannot be told. */
    answerBusy: async (parameters: string) => {
      const busy = await beginRequest.answerBusy(parameters)
      return busy && done(busy.application, busy.location)
    },

    resume: async (id: string, visitor: Visitor) => {
      const pending = await find(id, visitor)
      return pending ? proceed(pending) : startAgainAt(id)
    },

    /** Takes the answer of the user. It counts for the question that is open, and only for the user who was shown on the page. */
    answer: async ({ request: id, user: shownUserId, answer }: Decision, visitor: Visitor) => {
      const pending = await find(id, visitor)
      if (!pending) return startAgainAt(id)
      const user = await signedInUsers.find(visitor.caller, pending.application.id)
      if (!user || user.id !== shownUserId) return proceed(pending)
      const next = nextQuestion(pending, user)
      if (next === 'consent' && answer === 'continue') return finish.withCode(pending, user, true)
      if (next !== 'choose' && answer === 'continue') return proceed(pending)
      await authorizationRequests.handOver(keyOf(pending), user.id)
      if (answer === 'deny') return finish.withError(pending, accessDenied(next), user.id)
      return proceed({ ...pending, request: { ...pending.request, assignedUserId: user.id } })
    },
  }
}

type MakeCodeDependencies = {
  database: Database
  authorizationRequests: Pick<AuthorizationRequests, 'take'>
  authorizations: Pick<Authorizations, 'issueCodeInside'>
  consents: Pick<Consents, 'give' | 'scopesOf'>
  endStolen: EndStolen
}

type MakeCode = ReturnType<typeof createMakeCode>

/** Makes one code for each request: one transaction uses the request up, stores the consent and writes the code. */
export const createMakeCode = ({ database, authorizations, consents, endStolen, ...deps }: MakeCodeDependencies) => {
  const take = createTake(deps.authorizationRequests)

  /**
   * `issueCodeInside` has locked the user's row. So a withdrawal of the consent came earlier and is seen here, or it waits for the lock
   * and then ends the new code.
   */
  const stillAgrees = async (sql: Transaction, pending: PendingRequest, user: SignedInUser) => {
    const agreedTo = await consents.scopesOf(sql, user.id, pending.application.id)
    return !lacksConsent({ ...pending, user: { ...user, agreedTo } })
  }

  const make = (pending: PendingRequest, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) =>
    commitUnlessRefused(database, async (sql) => {
      const { application, request, visitor } = pending
      if (!(await take(sql, pending, user.id))) return refuse('over')
      const { redirectAddress, challenge, scopes, nonce, claims, acr } = request
      const content = {
        scopes,
        ...(nonce !== undefined && { nonce }),
        ...(claims && { claims }),
        ...(acr === '1' && { acr }),
      }
      const codeRequest = { application, redirectAddress, challenge, content, client: visitor.client }
      const outcome = await authorizations.issueCodeInside(sql, holder, codeRequest)
      if (isRefused(outcome)) return outcome
      if (hasAgreed) await consents.give(sql, user.id, application.id, sharedScopes(request))
      else if (!(await stillAgrees(sql, pending, user))) return refuse('consent_withdrawn')
      return outcome
    })

  /** If the refresh token was stolen, the session ends: copied cookies must not become the tokens of an application unnoticed. */
  return async (pending: PendingRequest, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) => {
    const outcome = await make(pending, holder, user, hasAgreed)
    if (isRefused(outcome) && outcome.refused === 'theft') await endStolen(holder.refreshToken, pending.visitor.client)
    return outcome
  }
}

type ReportNoAccess = ReturnType<typeof createReportNoAccess>

type ReportNoAccessDependencies = { events: Pick<Events, 'record'>; clock: Clock }

/** A program that sends its user back again and again causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** Records that a user has no access, so that operators find among the user's events why an application cannot be used. */
export const createReportNoAccess = ({ events, clock }: ReportNoAccessDependencies) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  return async ({ application, visitor }: PendingRequest, { id: userId }: SignedInUser) => {
    if (!isNew(`${application.id} ${userId}`, reportWindow)) return
    const sessionId = visitor.caller?.sessionId
    const reason = noAccessReason(application.name)
    await events.record(
      { kind: 'application_refused', userId, ...(sessionId !== undefined && { sessionId }), reason },
      visitor.client,
    )
  }
}
