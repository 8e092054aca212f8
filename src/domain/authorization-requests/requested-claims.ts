import { isCleanText } from '../../lib/strict-json.js'

/** What can be asked for by name (OpenID Connect Core 1.0, 5.5). All others are in every ID token, or not known here. */
const claimNames = ['name', 'preferred_username', 'email', 'email_verified', 'groups'] as const

type ClaimRequest = { value?: unknown; values?: unknown; essential?: unknown } | null
type ClaimRequests = Readonly<Record<string, ClaimRequest>>

export type RequestedClaims = {
  /** By name, for each place where they may be. */
  claims: { idToken: string[]; userinfo: string[] } | undefined
  /** `sub` with a value: only this user may be signed in (5.5.1). */
  user: string | undefined
  /** `acr` as an essential claim: without two factors the request fails (5.5.1.1). */
  needsTwoFactors: boolean
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isClaimRequests = (value: unknown): value is ClaimRequests =>
  isObject(value) && Object.values(value).every((each) => each === null || isObject(each))

const knownIn = (requests: ClaimRequests) => claimNames.filter((name) => Object.hasOwn(requests, name))

const requestOf = (requests: ClaimRequests, name: string) =>
  Object.hasOwn(requests, name) ? (requests[name] ?? undefined) : undefined

const demandsTwoFactors = (requests: ClaimRequests) => {
  const acr = requestOf(requests, 'acr')
  const values = Array.isArray(acr?.values) ? acr.values : [acr?.value]
  return acr?.essential === true && values.includes('2') && !values.includes('1')
}

/** Undefined if the text is not what the standard describes. */
export const readClaims = (text: string | undefined): RequestedClaims | undefined => {
  if (text === undefined) return { claims: undefined, user: undefined, needsTwoFactors: false }
  const parsed = parseJson(text)
  if (!isObject(parsed)) return undefined
  const { id_token: idToken = {}, userinfo = {} } = parsed
  if (!isClaimRequests(idToken) || !isClaimRequests(userinfo)) return undefined
  const sub = requestOf(idToken, 'sub')?.value
  if (typeof sub === 'string' && !isCleanText(sub)) return undefined
  return {
    claims: { idToken: knownIn(idToken), userinfo: knownIn(userinfo) },
    user: typeof sub === 'string' ? sub : undefined,
    needsTwoFactors: demandsTwoFactors(idToken),
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
