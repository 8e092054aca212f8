import { type OpenidScope, offlineAccess, openidScopes } from '../../contract/openid.js'
import type { FieldValues } from '../../contract/profile-fields.js'

/** The facts about a user that an application can be told. */
export type Subject = {
  id: string
  username: string
  name: string | null
  email: string
  /** Whether a mail of ours or the word of a provider has proven the address. */
  emailProven: boolean
  groups: readonly string[]
  /** Only fields that the profile fields file defines now. */
  fields: FieldValues
}

/** What the tokens of a code say besides facts about the user. It is fixed when the code is made. */
export type TokenContent = {
  nonce?: string
  /** When the user last proved who they are, in seconds. Never 0, and absent if nobody knows. */
  authTime?: number
  /** The methods, named as in `amr` of a session. */
  methods: string[]
  secondFactor: boolean
  /** Set if the application accepts no other value. Then the value is 1 even after two factors. */
  acr?: '1'
  scopes: string[]
  /** The names in the parameter `claims` (OpenID Connect Core 5.5) that `userClaims` has. */
  claims?: { idToken: string[]; userinfo: string[] }
}

/** Each claim about a user: the scope that asks for it, and its value. A claim without a value is left out. */
const claimTable = {
  name: { scope: 'profile', valueFor: ({ name }: Subject) => name ?? undefined },
  preferred_username: { scope: 'profile', valueFor: ({ username }: Subject) => username },
  email: { scope: 'email', valueFor: ({ email }: Subject) => email },
  email_verified: { scope: 'email', valueFor: ({ emailProven }: Subject) => emailProven },
  groups: { scope: 'groups', valueFor: ({ groups }: Subject) => groups.toSorted() },
  fields: { scope: 'fields', valueFor: ({ fields }: Subject) => (Object.keys(fields).length > 0 ? fields : undefined) },
} as const

type UserClaim = keyof typeof claimTable

/** The claims that a scope or the parameter `claims` can ask for (OpenID Connect Core 1.0, 5.5). */
export const userClaims = Object.keys(claimTable) as readonly UserClaim[]

/** Every scope that the service knows. Other scopes are ignored. */
export const supportedScopes: readonly string[] = [
  'openid',
  ...new Set(userClaims.map((name) => claimTable[name].scope)),
  offlineAccess,
]

/** What tokens for a resource can have besides the scopes of the resource itself. */
export const scopesBesideResource: readonly string[] = ['openid', 'profile', 'email', 'groups', offlineAccess]

type RequestedContent = { scopes: string[]; claims?: NonNullable<TokenContent['claims']> }

/** The scopes that the user shares. A claim that is requested by its name counts as a request for its scope. */
export const sharedScopes = ({ scopes, claims }: RequestedContent): OpenidScope[] => {
  const requested = [...(claims?.idToken ?? []), ...(claims?.userinfo ?? [])]
  const scopesOfClaims = userClaims
    .filter((name) => requested.includes(name))
    .map((name): OpenidScope => claimTable[name].scope)
  return openidScopes.filter((scope) => scopes.includes(scope) || scopesOfClaims.includes(scope))
}

/** The content for fewer scopes. Claims that were requested by name are left out. The remaining scopes bring their own claims. */
export const narrowedTo = (scopes: readonly string[], { claims: _, ...content }: TokenContent): TokenContent => ({
  ...content,
  scopes: [...scopes],
})

type UserClaims = { sub: string } & { [Name in UserClaim]?: string | boolean | readonly string[] | FieldValues }

const claimsOf = (subject: Subject, scopes: readonly string[], requested: readonly string[] = []): UserClaims => {
  const claims = userClaims
    .filter((name) => scopes.includes(claimTable[name].scope) || requested.includes(name))
    .map((name) => [name, claimTable[name].valueFor(subject)] as const)
    .filter(([, value]) => value !== undefined)
  return { sub: subject.id, ...Object.fromEntries(claims) }
}

export const userInfoOf = (subject: Subject, content: RequestedContent) =>
  claimsOf(subject, content.scopes, content.claims?.userinfo)

/**
 * The claims about the user in an ID token. A scope asks for its claims in both places, the parameter `claims` for each place by itself.
 */
export const idTokenClaimsOf = (subject: Subject, content: RequestedContent) =>
  claimsOf(subject, content.scopes, content.claims?.idToken)
