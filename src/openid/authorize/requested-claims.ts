import { isCleanText } from '../../lib/strict-json.js'

/**
 * The claims that can be requested by name (OpenID Connect Core 1.0, 5.5). All other claims are in every ID token, or the service does not
 * know them.
 */
const claimNames = ['name', 'preferred_username', 'email', 'email_verified', 'groups', 'fields'] as const

/** How many factors were used: one or two. */
export const acrLevels = ['1', '2'] as const
export type AcrLevel = (typeof acrLevels)[number]

type ClaimRequest = { value?: unknown; values?: unknown; essential?: unknown } | null
type ClaimRequests = Readonly<Record<string, ClaimRequest>>

export type RequestedClaims = {
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

const knownClaimsIn = (requests: ClaimRequests) => claimNames.filter((name) => Object.hasOwn(requests, name))

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
export const readClaims = (text: string | undefined): RequestedClaims | undefined => {
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
