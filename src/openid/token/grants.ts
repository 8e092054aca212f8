import type { ProtocolErrorCode } from '../../http/errors.js'
import { minutes } from '../../lib/durations.js'
import type { ProfileFields } from '../../users/profile-fields.js'
import type { GrantedResource, HolderRow, SubjectRow } from './tokens.store.js'
import { narrowedTo, type Subject, scopesBesideResource, type TokenContent } from './user-claims.js'

export const accessTokenLifetime = 15 * minutes
/** For a resource it is signed, so most who check it cannot know that it has ended. */
export const resourceTokenLifetime = 5 * minutes

/** An access token for an application, and what an ID token or UserInfo says with it. */
export type Grant = {
  /** For UserInfo. Nobody gets it where there is a `resource`: then a signed token takes its place. */
  accessToken: string
  resource: GrantedResource | undefined
  /** Resources and proxies refuse tokens of lower generations. */
  oldestGeneration: number
  authorizationId: string
  sid: string
  /** Whether the session is that of a device. */
  isDevice: boolean
  subject: Subject
  content: TokenContent
}

/** Without the scopes that the resource has lost since. */
const contentFor = (resource: GrantedResource | null, content: TokenContent): TokenContent => {
  if (!resource) return content
  const known = [...scopesBesideResource, ...resource.scopes]
  return { ...content, scopes: content.scopes.filter((scope) => known.includes(scope)) }
}

export const subjectFrom = ({ knownValues }: ProfileFields, row: SubjectRow): Subject => ({
  id: row.user_id,
  username: row.username,
  name: row.name,
  email: row.email,
  emailProven: row.email_proven,
  groups: row.groups,
  fields: knownValues(row.fields),
})

/** The content has fewer scopes than the code had, if a refresh asked for fewer. */
export const grantFrom = (
  profileFields: ProfileFields,
  row: HolderRow,
  accessToken: string,
  scopes?: readonly string[] | null,
): Grant => ({
  accessToken,
  resource: row.resource ?? undefined,
  oldestGeneration: row.oldest_generation,
  authorizationId: row.authorization_id,
  sid: row.sid,
  isDevice: row.is_device,
  subject: subjectFrom(profileFields, row),
  content: contentFor(row.resource, scopes ? narrowedTo(scopes, row.token_content) : row.token_content),
})

type FaultAnswers = Record<string, { error: ProtocolErrorCode; description: string }>

/** Each fault that a code can have, in the order in which they are checked. */
const codeFaults = {
  unknown_code: {
    error: 'invalid_grant',
    description: 'The code is not known, was not given to this client, or its session has ended',
  },
  reused_code: { error: 'invalid_grant', description: 'The code was used before, so its tokens have ended' },
  retried_code: { error: 'invalid_grant', description: 'The code was used a moment ago' },
  expired_code: { error: 'invalid_grant', description: 'The code has expired' },
  other_redirect: { error: 'invalid_grant', description: 'redirect_uri is not the one of the authorization request' },
  other_resource: { error: 'invalid_target', description: 'resource is not the one of the authorization request' },
  removed_redirect: { error: 'invalid_grant', description: 'redirect_uri is not registered any more' },
  missing_verifier: {
    error: 'invalid_grant',
    description: 'code_verifier is missing: the request had a code_challenge',
  },
  unexpected_verifier: {
    error: 'invalid_grant',
    description: 'There is a code_verifier, and the authorization request had no code_challenge',
  },
  malformed_verifier: {
    error: 'invalid_grant',
    description: 'code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~',
  },
  wrong_verifier: { error: 'invalid_grant', description: 'code_verifier does not fit the code_challenge' },
  missing_challenge: {
    error: 'invalid_grant',
    description: 'This client must use PKCE, and the request had no code_challenge',
  },
  ended: {
    error: 'invalid_grant',
    description: 'The session has ended, or is not enough for this application any more: sign in again',
  },
} as const satisfies FaultAnswers

const refreshFaults = {
  unknown_token: {
    error: 'invalid_grant',
    description: 'The refresh token is not known, or was not given to this client',
  },
  reused_token: { error: 'invalid_grant', description: 'The refresh token was used before, so its tokens have ended' },
  other_resource: codeFaults.other_resource,
  more_scopes: { error: 'invalid_scope', description: 'scope asks for more than the user was asked for' },
  ended: codeFaults.ended,
} as const satisfies FaultAnswers

const deviceFaults = {
  unknown_device: {
    error: 'invalid_grant',
    description: 'The device code is not known, or was not given to this client',
  },
  device_pending: { error: 'authorization_pending', description: 'The user has not answered yet' },
  device_too_early: { error: 'slow_down', description: 'Wait five seconds longer between two requests from now on' },
  device_denied: { error: 'access_denied', description: 'The user has declined' },
  device_expired: { error: 'expired_token', description: 'The device code has expired: ask for a new one' },
  retried_device: { error: 'invalid_grant', description: 'The device code was used a moment ago' },
  reused_device: { error: 'invalid_grant', description: 'The device code was used before, so its tokens have ended' },
  ended: codeFaults.ended,
} as const satisfies FaultAnswers

export type CodeFault = keyof typeof codeFaults
export type RefreshFault = keyof typeof refreshFaults
export type DeviceFault = keyof typeof deviceFaults
export type GrantFault = CodeFault | RefreshFault | DeviceFault

/** The error that the application gets for each fault (RFC 6749, 5.2). Operators read the same words in the application's list of errors. */
export const grantFaults: Readonly<Record<GrantFault, { error: ProtocolErrorCode; description: string }>> = {
  ...codeFaults,
  ...refreshFaults,
  ...deviceFaults,
}
