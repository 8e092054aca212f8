import { factorsOf } from '../../contract/factors.js'
import type { AccessClaims } from '../../domain/tokens/tokens.js'

/** What an application is told about the user, in the order of `identityOf`. */
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

/** An address of ours has only these characters, and a header can hold no others. */
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
}: AccessClaims): readonly string[] => [
  userId,
  encodeURIComponent(username),
  encodeURIComponent(name ?? ''),
  asciiOnly.test(email) ? email : '',
  sid,
  String(factorsOf(amr)),
  String(auth_time),
  groups.join(','),
]
