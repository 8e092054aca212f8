import { type Static, Type } from 'typebox'
import { groupPattern, maxGroups } from '../groups.js'
import { languages } from '../languages.js'
import { UndoState } from '../mailed-links.js'
import { PersonalToken } from '../personal-tokens.js'
import { ProfileFieldChanges, ProfileFieldDefinition, ProfileFields } from '../profile-fields.js'
import { OneOf } from '../refusal-bodies.js'
import { Id, Moment, Nullable, Provider, Session, UsedApplication } from '../schemas.js'
import { countingFactors } from '../second-factors.js'

import { Reason, ThingSetBy } from './configuration-bodies.js'

export * from './admin-api.js'
export * from './configuration-bodies.js'
export * from './overview-bodies.js'

const Group = Type.String({ pattern: groupPattern })

// ── Who asks

const adminRoles = ['admin', 'support'] as const
/** `support` can look and help users, but cannot change groups, invitations and applications. */
export type AdminRole = (typeof adminRoles)[number]

/** `GET /self` */
export const AdminSelf = Type.Object(
  {
    id: Id,
    username: Type.String(),
    role: OneOf<AdminRole>(adminRoles),
    adminGroup: Group,
    supportGroup: Nullable(Group),
  },
  { title: 'AdminSelf' },
)
export type AdminSelf = Static<typeof AdminSelf>

// ── Users

export const AdminUser = Type.Object(
  {
    id: Id,
    username: Type.String(),
    email: Type.String(),
    name: Nullable(Type.String()),
    disabled: Type.Boolean(),
    lockedDown: Type.Boolean({ description: 'Disabled by a lock-down' }),
    createdAt: Moment,
    lastSignInAt: Nullable(Moment),
    factors: Type.Array(OneOf(countingFactors), { description: 'The second factors that the account has' }),
    groups: Type.Array(Group),
  },
  { title: 'AdminUser' },
)
export type AdminUser = Static<typeof AdminUser>

const userOrders = ['username', '-username', 'created', '-created'] as const
/** With a minus sign the last come first. */
export type UserOrder = (typeof userOrders)[number]

/** `POST /users/search`, or `GET /users` with these as parameters */
export const AdminUserQuery = Type.Object({
  search: Type.Optional(
    Type.String({
      maxLength: 254,
      description: 'The beginning of a username, an address, a name or a last name; or an id',
    }),
  ),
  group: Type.Optional(Group),
  state: Type.Optional(OneOf(['active', 'disabled'])),
  factor: Type.Optional(OneOf(['none'], { description: 'Only users without a second factor' })),
  order: Type.Optional(
    OneOf<UserOrder>(userOrders, {
      description: 'Without it by username. Not together with `search`, whose result has the best matches first',
    }),
  ),
  after: Type.Optional(Type.String({ maxLength: 1000, description: '`next` of the page before' })),
})
export const AdminUsers = Type.Object(
  {
    users: Type.Array(AdminUser),
    next: Nullable(
      Type.String({
        description:
          'Null on the last page. With `state=active` or `factor=none` a page may have few users, or none, and others follow.',
      }),
    ),
    count: Nullable(
      Type.Integer({
        description: 'How many users are found in all. Null on further pages, and for more than 10,000',
      }),
    ),
    withoutAccount: Nullable(
      Type.Object(
        { email: Type.String(), invitedAt: Nullable(Moment), registeredAt: Nullable(Moment) },
        {
          description:
            'If `search` is a whole address that no user has: its open invitation, or its registration that is not confirmed',
        },
      ),
    ),
  },
  { title: 'AdminUsers' },
)
export type AdminUsers = Static<typeof AdminUsers>

/** The obstacles that keep a user from signing in. */
const obstacleCodes = [
  'disabled',
  'locked_down',
  'no_password',
  'owner_in_doubt',
  'must_add_factor',
  'must_give_fields',
  'must_agree_to_terms',
  'no_access',
  'mails_waiting',
  'mail_refused',
  'mail_given_up',
  'wrong_codes',
  'wrong_passwords_for_name',
  'wrong_passwords_in_browser',
  'mails_to_sign_in',
  'network_limit',
  'limits_unknown',
] as const
export type ObstacleCode = (typeof obstacleCodes)[number]

export const AdminObstacle = Type.Object(
  {
    code: OneOf<ObstacleCode>(obstacleCodes),
    message: Type.String({ description: 'A sentence in English, as `latchkey user show` prints it' }),
    subject: Nullable(
      Type.String({
        description:
          'The name, the address or the network that a limit refuses; the application; the fields; the version of the terms; who locked the account down; the former address whose reader can take the account back',
      }),
    ),
    until: Nullable(Moment),
    since: Nullable(Moment),
    count: Nullable(Type.Integer({ description: 'How many mails wait' })),
    detail: Nullable(
      Type.String({
        description:
          'What the mail server answered; the groups that may use the application; the reason of a lock-down',
      }),
    ),
    solvedBy: Nullable(
      OneOf(['enable', 'send-reset', 'clear-limits'], { description: 'The action that would solve it' }),
    ),
  },
  { title: 'AdminObstacle' },
)
export type AdminObstacle = Static<typeof AdminObstacle>

const { current: _, ...session } = Session.properties
const AdminSession = Type.Object(session, { title: 'AdminSession' })

/** The properties of a configuration file that differ. */
const Values = Type.Unsafe<object>({ type: 'object', additionalProperties: true })

/** `reason` says what happened, as `latchkey events` shows it; `actorReason` is what an administrator wrote. */
export const AdminEvent = Type.Object(
  {
    id: Id,
    kind: Type.String(),
    reason: Nullable(Type.String()),
    userId: Nullable(Id),
    username: Nullable(Type.String()),
    actorId: Nullable(Id),
    actor: Nullable(Type.String({ description: 'The username that the administrator had then' })),
    actorKey: Nullable(Type.String({ description: 'The name of the service key, for what another program did' })),
    actorReason: Nullable(
      Type.String({
        description: 'Null without a reason, and always if support asks: only administrators may read it',
      }),
    ),
    details: Nullable(
      Type.Object(
        {
          kind: Type.String({ description: 'What was changed: `application`, `setting` or `resource`' }),
          name: Type.String(),
          id: Type.Optional(Type.String({ description: 'Of an application or a resource' })),
          before: Type.Optional(Values),
          after: Type.Optional(Values),
          canChangeBack: Type.Boolean({ description: 'Whether `POST /events/:id/change-back` may work' }),
        },
        {
          description:
            'What an application, a resource or a setting was before and after, without secrets. The scopes of a resource are a list: `read=Read pages`',
        },
      ),
    ),
    sessionId: Nullable(Id),
    requestId: Nullable(Id),
    ip: Type.String({
      description:
        '`command line` for what an operator did with a command, `configuration file` for what `CONFIGURATION_FILE` did',
    }),
    userAgent: Type.String(),
    device: Session.properties.device,
    createdAt: Moment,
  },
  { title: 'AdminEvent' },
)
export type AdminEvent = Static<typeof AdminEvent>

/** `GET /users/:id` */
export const AdminUserDetails = Type.Object(
  {
    ...AdminUser.properties,
    self: Type.Boolean({
      description: 'Whether this is the account of the administrator who asks: changes to it are refused',
    }),
    emailProven: Type.Boolean(),
    language: Nullable(OneOf(languages)),
    fields: ProfileFields,
    fieldDefinitions: Type.Array(ProfileFieldDefinition, { description: 'What `fields` can have' }),
    formerEmails: Type.Array(Type.Object({ email: Type.String(), replacedAt: Moment })),
    undos: Type.Array(
      Type.Object({
        kind: UndoState.properties.kind,
        email: Type.String({ description: 'The address to which the link was mailed' }),
        until: Moment,
        works: Type.Boolean({ description: 'False after a lock-down, for a link to an address that may be a thief’s' }),
      }),
      { description: 'The changes of the last seven days that can be taken back' },
    ),
    enablingNeedsLink: Type.Boolean({
      description:
        'Locked down, and no link can be mailed: after it is enabled, an operator hands over a printed link to choose a new password',
    }),
    enablingSendsReset: Type.Boolean({
      description:
        'Whether enabling the account ends its password and mails a link for a new one, because it was locked down',
    }),
    formerOwner: Nullable(
      Type.String({
        description:
          'After a lock-down: a former address whose reader can still take the account back. Then no link for a new password is mailed when the account is enabled, nor when someone asks for it on the sign-in page, until the password is chosen there. Null if there is none',
      }),
    ),
    hasPassword: Type.Boolean(),
    providers: Type.Array(Provider),
    totp: Nullable(Type.Object({ createdAt: Moment })),
    recoveryCodesLeft: Type.Integer(),
    passkeys: Type.Integer(),
    trustedDevices: Type.Integer(),
    why: Type.Array(AdminObstacle, { description: 'Why the user cannot sign in; empty if nothing is known' }),
    sessions: Type.Array(AdminSession),
    applications: Type.Array(UsedApplication),
    tokens: Type.Array(PersonalToken, {
      description: 'With these, programs of the user enter applications behind a proxy',
    }),
    events: Type.Array(AdminEvent, { description: 'The newest ones' }),
  },
  { title: 'AdminUserDetails' },
)
export type AdminUserDetails = Static<typeof AdminUserDetails>

/** `POST /users/:id/…`: `userActions` says which of them need the reason. */
export const AdminAction = Type.Object({ reason: Type.Optional(Reason) }, { title: 'AdminAction' })

/** `POST /users/:id/end-token` */
export const AdminEndToken = Type.Object({ token: Id, reason: Reason }, { title: 'AdminEndToken' })

/** `PATCH /users/:id/groups`: answers with the user. The reason is needed for `remove`, and for `add` of ADMIN_GROUP or SUPPORT_GROUP. */
export const AdminGroupsPatch = Type.Object(
  {
    add: Type.Optional(Type.Array(Group, { maxItems: maxGroups })),
    remove: Type.Optional(Type.Array(Group, { maxItems: maxGroups })),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminGroupsPatch' },
)

/**
 * `PATCH /users/:id/fields`: answers with all values. Administrators change every field, support those that users edit themselves: the
 * other fields may decide what a user may do at an application.
 */
export const AdminFieldsPatch = Type.Object({ fields: ProfileFieldChanges }, { title: 'AdminFieldsPatch' })
export const AdminFields = Type.Object({ fields: ProfileFields }, { title: 'AdminFields' })

/** `POST /users/:id/delete` also takes the username, so that a wrong id is noticed. No reason is stored. */
export const AdminDeletion = Type.Object({ username: Type.String({ maxLength: 1024 }) }, { title: 'AdminDeletion' })

// ── Invitations

export const AdminInvitation = Type.Object(
  {
    email: Type.String(),
    groups: Type.Array(Group),
    madeBy: Type.String({ description: '`command line`, `administrator`, or `service key NAME`' }),
    invitedBy: Nullable(Type.String({ description: 'The name of the inviter, as the invited person sees it' })),
    returnTo: Nullable(Type.String({ description: 'The page to which the invited person goes afterwards' })),
    createdAt: Moment,
    expiresAt: Moment,
  },
  { title: 'AdminInvitation' },
)
export type AdminInvitation = Static<typeof AdminInvitation>

/** `GET /invitations` */
export const AdminInvitations = Type.Object({ invitations: Type.Array(AdminInvitation) }, { title: 'AdminInvitations' })
/**
 * `POST /invitations`: 201 with the invitation. The link is in the mail only. It replaces the open invitation of the same maker for the
 * address. What is left out stays as it was there.
 */
export const AdminInvite = Type.Object(
  {
    email: Type.String({ maxLength: 254 }),
    groups: Type.Optional(
      Type.Array(Group, {
        maxItems: maxGroups,
        description: 'Without it, those of your open invitation for this address stay',
      }),
    ),
    returnTo: Type.Optional(
      Type.String({
        maxLength: 512,
        description:
          'The page to which the invited person goes afterwards: a path of this site, or a page of an origin in `ALLOWED_ORIGINS`',
      }),
    ),
    language: Type.Optional(OneOf(languages)),
  },
  { title: 'AdminInvite' },
)
/** `DELETE /invitations`: 204. */
export const AdminUninvite = Type.Object(
  {
    email: Type.String({ maxLength: 254 }),
    madeBy: Type.Optional(
      Type.String({ maxLength: 100, description: 'Without it, all open invitations of this address are withdrawn' }),
    ),
  },
  { title: 'AdminUninvite' },
)

// ── Groups

export const AdminGroup = Type.Object(
  {
    name: Group,
    createdAt: Moment,
    members: Type.Integer(),
    role: Nullable(OneOf<AdminRole>(adminRoles, { description: 'What its members may do here' })),
    setBy: ThingSetBy,
  },
  { title: 'AdminGroup' },
)
export type AdminGroup = Static<typeof AdminGroup>

/** `GET /groups`. The members are `GET /users?group=NAME`. */
export const AdminGroups = Type.Object({ groups: Type.Array(AdminGroup) }, { title: 'AdminGroups' })
/** `POST /groups`: 201 with the group, or 200 if it is there already. */
export const AdminNewGroup = Type.Object({ name: Group }, { title: 'AdminNewGroup' })
/** `DELETE /groups`: 204. A group with members is deleted only with `members: true` and a reason. */
export const AdminGroupDeletion = Type.Object(
  {
    name: Group,
    members: Type.Optional(Type.Boolean({ description: 'True: the group is deleted even if it has members' })),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminGroupDeletion' },
)

// ── Events

/**
 * `POST /events/search`, or `GET /events` with these as parameters: newest first. To follow them, ask again with `since` a minute before the
 * newest one, and leave out the ids that are known: an event may become visible some seconds after its `createdAt`.
 */
export const AdminEventQuery = Type.Object({
  user: Type.Optional(Type.String({ maxLength: 254, description: 'An id, a username or an address' })),
  kind: Type.Optional(Type.String({ maxLength: 2000, description: 'One or more, with commas between them' })),
  ip: Type.Optional(
    Type.String({ maxLength: 64, description: 'An address, a network, `command line` or `configuration file`' }),
  ),
  since: Type.Optional(Moment),
  until: Type.Optional(Moment),
  after: Type.Optional(Type.String({ maxLength: 100, description: '`next` of the page before' })),
})
export const AdminEvents = Type.Object(
  {
    events: Type.Array(AdminEvent),
    next: Nullable(Type.String({ description: 'For the page with older events; null on the last page' })),
  },
  { title: 'AdminEvents' },
)
export type AdminEvents = Static<typeof AdminEvents>
