import { amrMethods } from './factors.js'
import { isGroupList } from './groups.js'

/**
 * The claims of an access token. They are a stored format: browsers keep a token for 15 minutes, also across an upgrade or a return to the
 * old release, and installed guards read the tokens of a newer service. So a claim that a release adds is optional.
 *
 * `sub` is the same as `userId`, and `iss` and `aud` are the URL of the service. `gen` counts the rotations of the session. `auth_time` is
 * when the user last proved who they are, and `amr` how. `mfa_time` is when they last used a second factor. It is missing if they never
 * did. A token without `groups` comes from a release that had none. The service writes no `nbf`.
 */
export type AccessClaims = {
  readonly userId: string
  readonly username: string
  readonly sid: string
  readonly sub: string
  readonly iss: string
  readonly aud: string
  readonly iat: number
  readonly exp: number
  readonly nbf?: number
  readonly gen: number
  readonly email: string
  readonly name?: string
  readonly auth_time: number
  readonly amr: readonly string[]
  readonly mfa_time?: number
  readonly groups?: readonly string[]
}
type ClaimName = keyof AccessClaims

/** The claims that the service writes, each by its name: undefined stands for a claim that this token does not have. */
export type WrittenClaims = { [Name in Exclude<ClaimName, 'nbf'>]: AccessClaims[Name] }

const isWholeUpTo = (value: unknown, most: number): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= most

/** The end of the year 9999, in seconds. Every database and every format of a date can write it. */
const lastMoment = 253_402_300_799
export const isMoment = (value: unknown): value is number => isWholeUpTo(value, lastMoment)

/** The highest generation. The column is a 32-bit integer, and the number of the successor must fit too. */
export const lastGeneration = 2 ** 31 - 2
export const isGeneration = (value: unknown): value is number => isWholeUpTo(value, lastGeneration)

const uuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/
export const isId = (value: unknown): value is string => typeof value === 'string' && uuid.test(value)

/** Neither a control character nor half of a surrogate pair. */
const cleanText = /^[^\p{Cc}\p{Cs}]+$/u
export const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= 512 && cleanText.test(value)
// Empty if an application does not share it.
const isEmail = (value: unknown): value is string => value === '' || isText(value)

/** A later release may know more methods, so any short word is read. */
const isMethodList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) &&
  value.length <= 16 &&
  value.every((method) => typeof method === 'string' && /^[a-z]{1,16}$/.test(method))

const optional =
  <Value>(isValid: (value: unknown) => value is Value) =>
  (value: unknown): value is Value | undefined =>
    value === undefined || isValid(value)

/**
 * What each claim must look like, for the service and for the guards of applications. Other claims are ignored: a later release may add
 * some. It stands apart from the other columns, because guards load nothing else.
 */
const checks: { readonly [Name in ClaimName]-?: (value: unknown) => value is AccessClaims[Name] } = {
  userId: isId,
  username: isText,
  sid: isId,
  sub: isId,
  iss: isText,
  aud: isText,
  iat: isMoment,
  exp: isMoment,
  nbf: optional(isMoment),
  gen: isGeneration,
  email: isEmail,
  name: optional(isText),
  auth_time: isMoment,
  amr: isMethodList,
  mfa_time: optional(isMoment),
  groups: optional(isGroupList),
}

const checkOfEach = Object.entries(checks)

export const hasAccessClaims = (claims: Readonly<Record<string, unknown>>): claims is AccessClaims =>
  checkOfEach.every(([name, isValid]) => isValid(claims[name])) && claims.sub === claims.userId

/** Whose tokens they are: the values that differ from one user and one service to the other. */
export type TokenOwner = { username: string; email: string; groups: readonly string[] }

type ClaimRow<Name extends ClaimName> = {
  /** The longest value, for the length of tokens. Undefined: the token can do without it. */
  longest: (owner: TokenOwner, issuer: string) => AccessClaims[Name] | undefined
  /** Whether a program learns the claim when it asks about the token of an application: always, with a scope, or never. */
  introspection: 'always' | 'profile' | 'email' | 'groups' | 'never'
}

const longestId = () => '00000000-0000-0000-0000-000000000000'
const longestMoment = () => lastMoment

// biome-ignore format: one claim a line, so that the table can be read as a table
const accessClaims = {
  userId: { longest: longestId, introspection: 'always' },
  username: { longest: ({ username }) => username, introspection: 'profile' },
  sid: { longest: longestId, introspection: 'always' },
  sub: { longest: longestId, introspection: 'always' },
  iss: { longest: (_, issuer) => issuer, introspection: 'always' },
  aud: { longest: (_, issuer) => issuer, introspection: 'always' },
  iat: { longest: longestMoment, introspection: 'always' },
  exp: { longest: longestMoment, introspection: 'always' },
  nbf: { longest: () => undefined, introspection: 'never' },
  gen: { longest: () => lastGeneration, introspection: 'always' },
  email: { longest: ({ email }) => email, introspection: 'email' },
  // A long name is cut, or left out.
  name: { longest: () => undefined, introspection: 'profile' },
  auth_time: { longest: longestMoment, introspection: 'always' },
  amr: { longest: () => Object.keys(amrMethods), introspection: 'always' },
  mfa_time: { longest: longestMoment, introspection: 'always' },
  groups: { longest: ({ groups }) => groups, introspection: 'groups' },
} as const satisfies { readonly [Name in ClaimName]-?: ClaimRow<Name> }

type Rows = typeof accessClaims
/** The claims in the answer about the token of an application. */
export type IntrospectedClaim = {
  [Name in ClaimName]: Rows[Name]['introspection'] extends 'never' ? never : Name
}[ClaimName]

/** The claims with their longest values. */
export const longestClaimsOf = (owner: TokenOwner, issuer: string) =>
  Object.fromEntries(Object.entries(accessClaims).map(([name, { longest }]) => [name, longest(owner, issuer)]))

type UnscopedClaim = {
  [Name in IntrospectedClaim]: Rows[Name]['introspection'] extends 'always' ? Name : never
}[IntrospectedClaim]
type SharedClaims = Pick<AccessClaims, UnscopedClaim> & Partial<Pick<AccessClaims, IntrospectedClaim>>

/** What the scopes of a token share of its claims. */
export const sharedClaims = (claims: { [Name in IntrospectedClaim]: AccessClaims[Name] }, scopes: readonly string[]) =>
  Object.fromEntries(
    Object.entries(claims).filter(([name]) => {
      const { introspection } = accessClaims[name as IntrospectedClaim]
      return introspection === 'always' || scopes.includes(introspection)
    }),
  ) as SharedClaims
