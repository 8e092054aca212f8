import { type Access, type Application, mayUse } from '../../applications/applications.js'
import { countFactors } from '../../contract/factors.js'
import type { AuthorizationStep } from '../../contract/openid.js'
import { type ProofMethod, reachingTwoFactors, secondFactorsAmong } from '../../contract/second-factors.js'

import type { Proof } from '../../sessions/session-facts.js'
import { sharedScopes } from '../token/user-claims.js'
import type { AuthorizationRequest } from './authorization-requests.js'
import type { AuthorizationError } from './request-steps.js'

/** The user of the session that the request comes from. */
export type SignedInUser = {
  id: string
  username: string
  name: string | null
  email: string
  groups: readonly string[]
  /**
   * The proofs of this session. `moment` is by the database's clock, because it is compared with the moment at which the request was stored,
   * perhaps by another instance.
   */
  proof: Proof & { moment: Date }
  /** The methods that the account can prove with. */
  methods: readonly ProofMethod[]
  /** The scopes that the user has agreed to before. Undefined if the user has never agreed. */
  agreedTo: readonly string[] | undefined
}

/** The demands of a request by an application, or by a device of the application. */
export type RequestDemands = Pick<
  AuthorizationRequest,
  'createdAt' | 'maxAge' | 'prompts' | 'acr' | 'prefersTwoFactors' | 'user' | 'assignedUserId' | 'scopes' | 'claims'
>

/** `resource`: what the tokens will be for alone. Its rule counts beside that of the application. */
type ApplicationRequest = { client: Application; request: RequestDemands; resource?: Access | undefined }
type Situation = ApplicationRequest & { user: SignedInUser }

/**
 * Whether the user gave a proof after the request was stored. Such a proof meets every demand for a recent proof, so that no user is asked
 * twice.
 */
export const hasProvenSince = ({ request, user }: Situation) => user.proof.moment > request.createdAt

const maxAgeOf = ({ client, request }: Situation) => {
  const limits = [request.maxAge, client.maxAge].filter((each) => each !== undefined)
  return limits.length === 0 ? undefined : Math.min(...limits)
}

/** The age is measured at the moment at which the request was stored: the time that the user takes to answer does not count. */
const needsFreshProof = (situation: Situation) => {
  const { request, user } = situation
  if (hasProvenSince(situation)) return false
  const limit = maxAgeOf(situation)
  const age = request.createdAt.getTime() - user.proof.moment.getTime()
  return request.prompts.includes('login') || (limit !== undefined && age > limit)
}

const demandsTwoFactors = ({ client, request }: Situation) => client.factors === 2 || request.acr === '2'
const accountHasSecondFactor = ({ user }: Situation) => secondFactorsAmong(user.methods).length > 0

const needsSecondProof = (situation: Situation) =>
  countFactors(situation.user.proof.methods) < 2 &&
  (demandsTwoFactors(situation) || (situation.request.prefersTwoFactors && accountHasSecondFactor(situation)))

/** Whether the request names another user: with `id_token_hint`, or by `sub` among the claims (OpenID Connect Core 1.0, 3.1.2.2). */
export const isNotNamedUser = ({ request, user }: Situation) => request.user !== undefined && request.user !== user.id

const mustChooseUser = (situation: Situation) => {
  const { request, user } = situation
  if (request.assignedUserId !== undefined) return request.assignedUserId !== user.id
  return request.prompts.includes('select_account') || isNotNamedUser(situation)
}

export const lacksConsent = ({ client, request, user, resource }: Situation) => {
  // The session will last long, and a program that runs on the user's machine can pose as any other of its kind.
  if (resource) return true
  // Any program on the user's machine can pose as a native application, so its user is always asked.
  if (client.kind === 'native' || request.prompts.includes('consent')) return true
  return client.consent === 'ask' && !sharedScopes(request).every((scope) => user.agreedTo?.includes(scope))
}

type Question = {
  step: AuthorizationStep
  isAsked: (situation: Situation) => boolean
  /** With `prompt=none` the application gets this error instead of the question. */
  errorIfSilent: AuthorizationError
}

/** The order matters: an account without access is not asked for a proof, and consent comes after the proof. */
const questions: readonly Question[] = [
  { step: 'choose', isAsked: mustChooseUser, errorIfSilent: 'login_required' },
  {
    step: 'no_access',
    isAsked: ({ client, resource, user }) =>
      !mayUse(client, user.groups) || (resource !== undefined && !mayUse(resource, user.groups)),
    errorIfSilent: 'access_denied',
  },
  {
    step: 'enrol',
    isAsked: (situation) => needsSecondProof(situation) && !accountHasSecondFactor(situation),
    errorIfSilent: 'interaction_required',
  },
  {
    step: 'prove',
    isAsked: (situation) => needsSecondProof(situation) || needsFreshProof(situation),
    errorIfSilent: 'interaction_required',
  },
  { step: 'consent', isAsked: lacksConsent, errorIfSilent: 'consent_required' },
]

/** The methods that are enough for the step `prove`. Empty if only a new sign-in leads to two factors. */
export const sufficientMethods = (situation: Situation) => {
  const { methods, proof } = situation.user
  return needsSecondProof(situation) ? reachingTwoFactors(methods, proof.methods) : methods
}

/** The first step that the user must still take. */
export const nextQuestion = (
  applicationRequest: ApplicationRequest,
  user: SignedInUser | undefined,
): AuthorizationStep => {
  if (!user) return 'sign_in'
  const situation = { ...applicationRequest, user }
  const next = questions.find(({ isAsked }) => isAsked(situation))?.step ?? 'done'
  return next === 'prove' && sufficientMethods(situation).length === 0 ? 'sign_in' : next
}

/** The error for a request with `prompt=none`, which may ask no question (OpenID Connect Core 1.0, 3.1.2.6). */
export const silentError = ({ client, resource }: ApplicationRequest, next: AuthorizationStep): AuthorizationError => {
  if (next === 'consent' && client.kind === 'native' && !resource) return 'interaction_required'
  return questions.find((each) => each.step === next)?.errorIfSilent ?? 'login_required'
}
