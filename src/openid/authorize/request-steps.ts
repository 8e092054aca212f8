import type { Application } from '../../applications/applications.js'
import { type OpenidPrompt, offlineAccess, openidPrompts, openidScopes } from '../../contract/openid.js'
import { seconds } from '../../lib/durations.js'
import { isCleanText } from '../../lib/strict-json.js'
import { type Resource, scopeNames } from '../resources/resource.js'
import { scopesBesideResource, userClaims } from '../token/user-claims.js'

/** The parameters of a request that came once, and the names of those that came more often. */
export type Parameters = { values: ReadonlyMap<string, string>; repeated: readonly string[] }

/** Whether the database can store every name and value. It refuses a NUL, which `%00` stands for. */
export const areClean = ({ values }: Parameters) => [...values].flat().every(isCleanText)

/** RFC 6749, 3.1: a parameter without a value counts as left out. */
export const readParameters = (text: string): Parameters => {
  const sent = [...new URLSearchParams(text)].filter(([, value]) => value !== '')
  const names = sent.map(([name]) => name)
  const repeated = [...new Set(names.filter((name, index) => names.indexOf(name) !== index))]
  return { values: new Map(sent.filter(([name]) => !repeated.includes(name))), repeated }
}

/** Splits values that are separated by spaces. */
export const listOf = (value: string | undefined) => (value ?? '').split(' ').filter((each) => each !== '')

/** How many factors were used: one or two. */
export const acrLevels = ['1', '2'] as const
type AcrLevel = (typeof acrLevels)[number]

type ClaimRequest = { value?: unknown; values?: unknown; essential?: unknown } | null
type ClaimRequests = Readonly<Record<string, ClaimRequest>>

type RequestedClaims = {
  /** The names of the requested claims, for each place where they may be. */
  claims: { idToken: string[]; userinfo: string[] } | undefined
  /** `sub` with a value: only this user may be signed in (5.5.1). */
  user: string | undefined
  /** The levels that are enough if `acr` is an essential claim (5.5.1.1). Otherwise all levels. */
  acr: readonly AcrLevel[]
  /** Whether `auth_time` is an essential claim: then it must be in the ID token (section 2). */
  needsAuthTime: boolean
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isClaimRequests = (value: unknown): value is ClaimRequests =>
  isObject(value) && Object.values(value).every((each) => each === null || isObject(each))

/** All other claims are in every ID token, or the service does not know them. */
const knownClaimsIn = (requests: ClaimRequests) => userClaims.filter((name) => Object.hasOwn(requests, name))

const requestOf = (requests: ClaimRequests, name: string) =>
  Object.hasOwn(requests, name) ? (requests[name] ?? undefined) : undefined

/** The levels that meet the request. No level meets a value that is no text or not a level of ours, and the request fails. */
const acceptedLevels = (requests: ClaimRequests): readonly AcrLevel[] => {
  const acr = requestOf(requests, 'acr')
  if (acr?.essential !== true) return acrLevels
  const values: unknown = acr.values ?? acrLevels
  return acrLevels.filter((level) => (acr.value ?? level) === level && Array.isArray(values) && values.includes(level))
}

/** Reads the parameter `claims`. Undefined if the text is not what the standard describes. */
const readClaims = (text: string | undefined): RequestedClaims | undefined => {
  if (text === undefined) return { claims: undefined, user: undefined, acr: acrLevels, needsAuthTime: false }
  const parsed = parseJson(text)
  if (!isObject(parsed)) return undefined
  const { id_token: idToken = {}, userinfo = {} } = parsed
  if (!isClaimRequests(idToken) || !isClaimRequests(userinfo)) return undefined
  const user = requestOf(idToken, 'sub')?.value ?? undefined
  if (user !== undefined && (typeof user !== 'string' || !isCleanText(user))) return undefined
  return {
    claims: { idToken: knownClaimsIn(idToken), userinfo: knownClaimsIn(userinfo) },
    user,
    acr: acceptedLevels(idToken),
    needsAuthTime: requestOf(idToken, 'auth_time')?.essential === true,
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The errors of RFC 6749, 4.1.2.1; OpenID Connect Core 1.0, 3.1.2.6; OpenID Connect Core Error Code unmet_authentication_requirements; RFC 8707, 2. */
export type AuthorizationError =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'invalid_target'
  | 'access_denied'
  | 'temporarily_unavailable'
  | 'login_required'
  | 'consent_required'
  | 'interaction_required'
  | 'unmet_authentication_requirements'
  | 'request_not_supported'
  | 'request_uri_not_supported'
  | 'registration_not_supported'

/** The description is for the developer of the application. RFC 6749 allows ASCII without quotes and backslashes. */
export type StepError = { error: AuthorizationError; description: string }

const isPrompt = (value: string): value is OpenidPrompt => openidPrompts.some((known) => known === value)

/** A request that has passed every step. */
export type CheckedRequest = {
  state: string | undefined
  nonce: string | undefined
  scopes: string[]
  /** The only resource for which the program gets tokens. If undefined, it gets the usual ones. */
  resourceId: string | undefined
  codeChallenge: string | undefined
  prompts: OpenidPrompt[]
  /** In milliseconds. */
  maxAge: number | undefined
  hint: string | undefined
  claims: RequestedClaims['claims']
  /** The id of the only user who may be signed in. If undefined, every user may. Stored requests have this property, so its name stays. */
  user: string | undefined
  /** The level (number of factors) that the sign-in must have. If undefined, every level is enough. */
  acr: AcrLevel | undefined
  /** Two factors are preferred, and one is enough (`acr_values` is voluntary). */
  prefersTwoFactors: boolean
}

/** What `resource` names. */
type Target = Resource | 'unknown' | undefined

type StepInput = {
  client: Application
  target: Target
  parameters: Parameters
  get: (name: string) => string | undefined
}
type Step = { paragraph: string; check: (request: StepInput) => StepError | undefined }

const invalid = (description: string): StepError => ({ error: 'invalid_request', description })

const s256Challenge = /^[\w-]{43}$/

const checkResponseType: Step['check'] = ({ get }) => {
  if (get('response_type') === undefined) return invalid('response_type is missing')
  return get('response_type') === 'code'
    ? undefined
    : { error: 'unsupported_response_type', description: 'response_type must be code' }
}

const checkTarget: Step['check'] = ({ client, target }) => {
  if (target === 'unknown') return { error: 'invalid_target', description: 'resource is not known here' }
  return client.kind === 'document' && target === undefined
    ? { error: 'invalid_target', description: 'resource is missing: this program gets tokens for a resource only' }
    : undefined
}

/** For a resource, no scope at all means all of its own. */
const checkScope: Step['check'] = ({ target, get }) => {
  const asked = listOf(get('scope'))
  if (target === undefined || target === 'unknown')
    return asked.includes('openid') ? undefined : { error: 'invalid_scope', description: 'scope must contain openid' }
  const own = scopeNames(target)
  return asked.length === 0 || own.length === 0 || own.some((scope) => asked.includes(scope))
    ? undefined
    : { error: 'invalid_scope', description: 'scope has none of the scopes of the resource' }
}

/** Of what is asked for, what can be given. */
const grantedScopes = ({ kind }: Application, resource: Resource | undefined, asked: readonly string[]) => {
  if (resource && asked.length === 0) return scopeNames(resource)
  const offline = kind === 'native' ? [offlineAccess] : []
  const known = resource ? [...scopesBesideResource, ...scopeNames(resource)] : [...openidScopes, ...offline]
  return [...new Set(known)].filter((scope) => asked.includes(scope))
}

/** Whether the program gets a session of its own, which outlives that of the browser. */
export const beginsSession = ({ resourceId, scopes }: Pick<CheckedRequest, 'resourceId' | 'scopes'>) =>
  resourceId !== undefined || scopes.includes(offlineAccess)

const checkChallenge: Step['check'] = ({ client, get }) => {
  const value = get('code_challenge')
  const method = get('code_challenge_method')
  if (value === undefined && method !== undefined) return invalid('code_challenge is missing')
  if (value === undefined) return client.pkce ? invalid('code_challenge is missing: PKCE is required') : undefined
  if (method !== 'S256') return invalid('code_challenge_method must be S256')
  return s256Challenge.test(value) ? undefined : invalid('code_challenge must have 43 characters of base64url')
}

const checkPrompt: Step['check'] = ({ get }) => {
  const values = listOf(get('prompt'))
  if (!values.every(isPrompt)) return invalid('prompt has a value that is not supported')
  return values.includes('none') && values.length > 1 ? invalid('prompt none must stand alone') : undefined
}

/** Longer than any session lives. A session whose time of proof is not known is older than this, so its user is asked. */
const anyAge = '999999999'

const checkMaxAge: Step['check'] = ({ get }) =>
  /^\d{1,9}$/.test(get('max_age') ?? '0') ? undefined : invalid('max_age must be a number of seconds')

const notSupported = (name: 'request' | 'request_uri' | 'registration'): Step => ({
  paragraph: 'OpenID Connect Core 1.0, 3.1.2.6',
  check: ({ get, parameters }) =>
    get(name) === undefined && !parameters.repeated.includes(name)
      ? undefined
      : { error: `${name}_not_supported`, description: `${name} is not supported` },
})

/**
 * The checks, in their order. Client and redirect address were checked before: a fault of theirs is shown to the user, and sent to no
 * address.
 */
const requestSteps: readonly Step[] = [
  {
    paragraph: 'RFC 6749, 3.1',
    check: ({ parameters: { repeated } }) =>
      repeated.length > 0 ? invalid('a parameter is there more than once') : undefined,
  },
  notSupported('request'),
  notSupported('request_uri'),
  notSupported('registration'),
  { paragraph: 'RFC 6749, 3.1.1', check: checkResponseType },
  {
    paragraph: 'OAuth 2.0 Multiple Response Types, 2.1',
    check: ({ get }) =>
      (get('response_mode') ?? 'query') === 'query' ? undefined : invalid('response_mode must be query'),
  },
  { paragraph: 'RFC 8707, 2', check: checkTarget },
  { paragraph: 'OpenID Connect Core 1.0, 3.1.2.1; RFC 6749, 3.3', check: checkScope },
  { paragraph: 'RFC 7636, 4.4.1; RFC 9700, 2.1.1', check: checkChallenge },
  { paragraph: 'OpenID Connect Core 1.0, 3.1.2.1', check: checkPrompt },
  { paragraph: 'OpenID Connect Core 1.0, 3.1.2.1', check: checkMaxAge },
  {
    paragraph: 'OpenID Connect Core 1.0, 5.5',
    check: ({ get }) => (readClaims(get('claims')) ? undefined : invalid('claims is not valid')),
  },
  {
    paragraph: 'OpenID Connect Core 1.0, 5.5.1.1',
    check: ({ get }) =>
      readClaims(get('claims'))?.acr.length === 0
        ? { error: 'unmet_authentication_requirements', description: 'acr must be 1 or 2, as a text' }
        : undefined,
  },
]

/** The first value that we know is the one that the application prefers. */
const prefersTwo = (acrValues: readonly string[]) =>
  acrValues.find((value) => acrLevels.some((level) => level === value)) === '2'

/**
 * Checks a request and reads its parameters. Every other parameter is ignored (OpenID Connect Core 1.0, 3.1.2.1), and so is every other
 * scope.
 */
export const checkRequest = (
  client: Application,
  parameters: Parameters,
  target: Target,
): CheckedRequest | StepError => {
  const get = (name: string) => parameters.values.get(name)
  for (const { check } of requestSteps) {
    const error = check({ client, target, parameters, get })
    if (error) return error
  }
  const resource = target === 'unknown' ? undefined : target
  const { claims, user, acr = acrLevels, needsAuthTime = false } = readClaims(get('claims')) ?? {}
  const maxAge = get('max_age') ?? (needsAuthTime ? anyAge : undefined)
  return {
    state: get('state'),
    nonce: get('nonce'),
    scopes: grantedScopes(client, resource, listOf(get('scope'))),
    resourceId: resource?.id,
    codeChallenge: get('code_challenge'),
    prompts: listOf(get('prompt')).filter(isPrompt),
    maxAge: maxAge === undefined ? undefined : Number(maxAge) * seconds,
    hint: get('id_token_hint'),
    // UserInfo takes no token for a resource, so there is nothing that could be asked for by name.
    claims: resource ? undefined : claims,
    user,
    acr: acr.length === 1 ? acr[0] : undefined,
    prefersTwoFactors: prefersTwo(listOf(get('acr_values'))),
  }
}

export const isStepError = (checked: CheckedRequest | StepError): checked is StepError => 'error' in checked
