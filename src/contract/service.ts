import { type Static, type TSchema, Type } from 'typebox'
import type { IntrospectedClaim } from './access-claims.js'
import {
  AdminAction,
  AdminGroup,
  AdminGroupsPatch,
  AdminInvitation,
  AdminInvite,
  AdminNewGroup,
  AdminUninvite,
  AdminUser,
} from './admin/admin-bodies.js'
import { groupPattern } from './groups.js'
import { ProfileFieldChanges } from './profile-fields.js'
import { Nullable, ServiceUser } from './schemas.js'

/** The scopes of a key. Each route for other programs needs one of them. */
export const serviceScopes = [
  'users:read',
  'users:write',
  'sessions:end',
  'revocations:read',
  'tokens:read',
  'invitations',
  'groups',
] as const
export type ServiceScope = (typeof serviceScopes)[number]

/** The scopes of a key if its line names none. Scopes that change something must be named. */
export const defaultScopes: readonly ServiceScope[] = ['users:read', 'revocations:read']

/** The API of other programs, with a service key. Requests that administrators can make, too, have the same bodies. */
export const servicePath = '/api/service'

/** A page has at most so many users. */
const maxListedUsers = 200
const limitDescription = `The number of users in a page, 1 to ${maxListedUsers}; 50 if it is left out`

// ── Users

/** `GET /users/:id`, and a search with `email` */
export const ServiceUserFound = Type.Object({ user: ServiceUser }, { title: 'ServiceUserFound' })
export type ServiceUserFound = Static<typeof ServiceUserFound>

/** A user in a list, with further fields that only a list has. */
export const ServiceListedUser = Type.Object(
  {
    ...ServiceUser.properties,
    factors: AdminUser.properties.factors,
    lastSignInAt: AdminUser.properties.lastSignInAt,
  },
  { title: 'ServiceListedUser' },
)
export type ServiceListedUser = Static<typeof ServiceListedUser>

/** A search without `email` */
export const ServiceUsers = Type.Object(
  { users: Type.Array(ServiceListedUser), next: Nullable(Type.String({ description: 'Null on the last page' })) },
  { title: 'ServiceUsers' },
)
export type ServiceUsers = Static<typeof ServiceUsers>

/** `GET /users`: `email` finds one user, and cannot be combined with other parameters. */
export const ServiceUserQuery = Type.Object({
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 320,
      description: 'Finds one user: the answer has `user` instead of `users`',
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'The beginning of a username, an address, a name or a last name; or an id',
    }),
  ),
  group: Type.Optional(Type.String({ pattern: groupPattern, description: 'Only the members of this group' })),
  secondFactor: Type.Optional(
    Type.Literal('none', { description: 'Only users without an authenticator app and without a passkey' }),
  ),
  after: Type.Optional(Type.String({ maxLength: 1000, description: '`next` of the page before' })),
  limit: Type.Optional(Type.String({ pattern: '^(?:[1-9]\\d?|1\\d\\d|200)$', description: limitDescription })),
})

/** `POST /users/search`: the same in a body. Logs of proxies and tools have the URLs of requests, and so names and addresses. */
export const ServiceUserSearch = Type.Object(
  {
    ...ServiceUserQuery.properties,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: maxListedUsers, description: limitDescription })),
  },
  { title: 'ServiceUserSearch' },
)

const { id, disabled, groups, fields } = ServiceUser.properties

/** A change answers only with what it has changed: a key that can change users need not have the right to read them. */
export const ServiceUserState = Type.Object({ user: Type.Object({ id, disabled }) }, { title: 'ServiceUserState' })
export type ServiceUserState = Static<typeof ServiceUserState>
/** The answer has only the fields that the request names. */
export const ServiceUserFields = Type.Object({ user: Type.Object({ id, fields }) }, { title: 'ServiceUserFields' })
export type ServiceUserFields = Static<typeof ServiceUserFields>
export const ServiceUserGroups = Type.Object({ user: Type.Object({ id, groups }) }, { title: 'ServiceUserGroups' })
export type ServiceUserGroups = Static<typeof ServiceUserGroups>

/** `POST /users/:id/disable` and `enable`. `userActions` says which of them needs the reason. */
export const ServiceAction = Type.Object(AdminAction.properties, { title: 'ServiceAction' })
export type ServiceAction = Static<typeof ServiceAction>

/** `PATCH /users/:id/fields` with at least one field. Fields that only administrators edit are allowed, too. */
export const ServiceFieldsPatch = Type.Object(
  { fields: ProfileFieldChanges, reason: AdminAction.properties.reason },
  { title: 'ServiceFieldsPatch' },
)
export type ServiceFieldsPatch = Static<typeof ServiceFieldsPatch>

/** `PATCH /users/:id/groups` with at least one group. `remove` needs the reason. */
export const ServiceGroupsPatch = Type.Object(AdminGroupsPatch.properties, { title: 'ServiceGroupsPatch' })
export type ServiceGroupsPatch = Static<typeof ServiceGroupsPatch>

// ── Invitations

export const ServiceInvitation = Type.Object(AdminInvitation.properties, { title: 'ServiceInvitation' })
export type ServiceInvitation = Static<typeof ServiceInvitation>

/** `GET /invitations`. With `mine`, only those of this key. */
export const ServiceInvitationQuery = Type.Object({
  mine: Type.Optional(Type.Literal('true', { description: 'Only the invitations that were made with this key' })),
})
export const ServiceInvitations = Type.Object(
  { invitations: Type.Array(ServiceInvitation) },
  { title: 'ServiceInvitations' },
)
export type ServiceInvitations = Static<typeof ServiceInvitations>
/** `POST /invitations`: the link is in the mail only. */
export const ServiceInvite = Type.Object(
  {
    ...AdminInvite.properties,
    invitedBy: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'The name of the inviter, for the mail and the page: one line of at most 64 characters of plain text',
      }),
    ),
  },
  { title: 'ServiceInvite' },
)
export type ServiceInvite = Static<typeof ServiceInvite>
/** `DELETE /invitations`: the one that was made with this key. */
export const ServiceUninvite = Type.Object({ email: AdminUninvite.properties.email }, { title: 'ServiceUninvite' })

// ── Groups

export const ServiceGroup = Type.Object(AdminGroup.properties, { title: 'ServiceGroup' })
export type ServiceGroup = Static<typeof ServiceGroup>

/** `GET /groups`. The members are `GET /users?group=NAME`. */
export const ServiceGroups = Type.Object({ groups: Type.Array(ServiceGroup) }, { title: 'ServiceGroups' })
export type ServiceGroups = Static<typeof ServiceGroups>
/** `POST /groups`, and `DELETE /groups`: a group with members is not deleted. A name may have a dot, so it is not in the path. */
export const ServiceGroupName = Type.Object(AdminNewGroup.properties, { title: 'ServiceGroupName' })

export const ServiceTokenBody = Type.Object({
  token: Type.String({
    minLength: 1,
    maxLength: 2_048,
    description: 'An access token that an application has sent you',
  }),
})

/**
 * The claims have the names of those in an access token of a browser, so that a program can treat both kinds of tokens in the same way.
 * Those about the person are there only if the token has the scope.
 */
const Claims = Type.Object(
  {
    userId: Type.String(),
    username: Type.Optional(Type.String({ description: 'With the scope profile' })),
    sid: Type.String(),
    sub: Type.String(),
    iss: Type.String(),
    aud: Type.String(),
    iat: Type.Integer(),
    exp: Type.Integer(),
    gen: Type.Integer(),
    email: Type.Optional(Type.String({ description: 'With the scope email' })),
    name: Type.Optional(Type.String({ description: 'With the scope profile, if the user has one' })),
    auth_time: Type.Integer(),
    amr: Type.Unsafe<readonly string[]>(Type.Array(Type.String())),
    mfa_time: Type.Optional(Type.Integer()),
    groups: Type.Optional(
      Type.Unsafe<readonly string[]>(Type.Array(Type.String(), { description: 'With the scope groups' })),
    ),
  } satisfies Record<IntrospectedClaim, TSchema>,
  { description: 'Named as in an access token of a browser' },
)

export const ServiceTokenState = Type.Object(
  {
    active: Type.Boolean({
      description:
        'False if the token is unknown or has expired, or if the session or the access that it was given for has ended',
    }),
    application: Type.Optional(Type.String({ description: 'The id of the application that the token was given to' })),
    scope: Type.Optional(
      Type.String({ description: 'The scopes of the token, with spaces between them: what the user shares with it' }),
    ),
    claims: Type.Optional(Claims),
  },
  { title: 'ServiceTokenState' },
)
export type ServiceTokenState = Static<typeof ServiceTokenState>
