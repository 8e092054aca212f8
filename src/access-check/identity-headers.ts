import type { AccessClaims } from '../contract/access-claims.js'
import { countFactors } from '../contract/factors.js'

/** The headers that tell an application who the user is, in the order of `identityOf`. */
export const identityHeaders = [
  'x-auth-user-id',
  'x-auth-username',
  'x-auth-name',
  'x-auth-email',
  'x-auth-session-id',
  'x-auth-factors',
  'x-auth-time',
  'x-auth-groups',
] as const

/** Every email address that the service accepts has only these characters. Another one could not be sent in a header. */
const asciiOnly = /^[\x21-\x7e]*$/

/** Names may have any letters, so they are percent-encoded. */
export const identityOf = ({
  userId,
  username,
  name,
  email,
  sid,
  amr,
  auth_time,
  groups = [],
}: Pick<
  AccessClaims,
  'userId' | 'username' | 'name' | 'email' | 'sid' | 'amr' | 'auth_time' | 'groups'
>): readonly string[] => [
  userId,
  encodeURIComponent(username),
  encodeURIComponent(name ?? ''),
  asciiOnly.test(email) ? email : '',
  sid,
  String(countFactors(amr)),
  String(auth_time),
  groups.join(','),
]

const remembered = new WeakMap<AccessClaims, readonly string[]>()

/** The same, encoded once and kept with the claims, for checks in front of the framework. */
export const rememberedIdentityOf = (claims: AccessClaims) => {
  const known = remembered.get(claims)
  if (known !== undefined) return known
  const identity = identityOf(claims)
  remembered.set(claims, identity)
  return identity
}
