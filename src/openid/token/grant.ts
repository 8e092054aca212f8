import { minutes } from '../../lib/durations.js'
import type { ProfileFields } from '../../users/profile-fields.js'
import type { HolderRow } from './tokens.store.js'
import { narrowedTo, type Subject, type TokenContent } from './user-claims.js'

export const accessTokenLifetime = 15 * minutes

/** An access token for an application, and what an ID token or UserInfo says with it. */
export type Grant = {
  accessToken: string
  authorizationId: string
  sid: string
  subject: Subject
  content: TokenContent
}

/** The content has fewer scopes than the code had, if a refresh asked for fewer. */
export const createGrantOf =
  ({ knownValues }: Pick<ProfileFields, 'knownValues'>) =>
  (row: HolderRow, accessToken: string, scopes?: readonly string[] | null): Grant => ({
    accessToken,
    authorizationId: row.authorization_id,
    sid: row.sid,
    subject: {
      id: row.user_id,
      username: row.username,
      name: row.name,
      email: row.email,
      emailProven: row.email_proven,
      groups: row.groups,
      fields: knownValues(row.fields),
    },
    content: scopes ? narrowedTo(scopes, row.token_content) : row.token_content,
  })
