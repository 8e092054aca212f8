import { type Static, Type } from 'typebox'
import {
  changedProperties,
  changedResourceProperties,
  liveSettingNames,
  newProperties,
  newResourceProperties,
  type SetBy,
  shownProperties,
  shownResourceProperties,
} from '../configuration.js'
import { OneOf } from '../refusal-bodies.js'
import { Id, Moment, Nullable } from '../schemas.js'
import { longestReason, type ShownVariable, shownVariables } from './admin-api.js'

/** The reason why something is taken away from a user. Only administrators see it. */
export const Reason = Type.String({ minLength: 1, maxLength: longestReason, pattern: '\\S' })

/** Who has set it, if it is not for the page to change. */
export const ThingSetBy = Nullable(
  Type.Object({
    file: Type.String({ description: 'The name of a configuration file. Changing it is 409 `set_by_file`' }),
  }),
)

// ── Applications

const SeenProblem = Type.Object({ kind: Type.String(), message: Type.String(), count: Type.Integer(), seenAt: Moment })

const Version = Type.String({ description: 'Another text after each change; send it as `If-Match`' })

/** An application, with the properties that a configuration file can have, defaults too. */
export const AdminApplication = Type.Object(
  {
    ...shownProperties,
    id: Type.String(),
    name: Type.String(),
    version: Version,
    setBy: ThingSetBy,
    secretsByFile: Type.Boolean({
      description: 'Whether that file names its secrets, too. Then nothing else changes them',
    }),
    iconVersion: Nullable(Type.String({ description: 'Changes with the icon. Null: it has none' })),
    createdAt: Moment,
    secrets: Type.Array(Type.Object({ id: Type.String(), createdAt: Moment }), { description: 'When each was made' }),
    errors: Type.Array(SeenProblem, { description: 'The last ones, newest first' }),
    normalEnds: Type.Array(SeenProblem, { description: 'Requests that ended without a sign-in, which is no error' }),
  },
  { title: 'AdminApplication' },
)
export type AdminApplication = Static<typeof AdminApplication>

/** A program that nobody registered: it came with a document, from a host that `CLIENT_DOCUMENTS` names. */
export const AdminProgram = Type.Object(
  {
    id: Type.String(),
    name: Type.String({ description: 'As its document says: it can be any name, so the host is what counts' }),
    document: Type.String({ description: 'The address of its document, which is its `client_id`' }),
    host: Type.String(),
    sessions: Type.Integer({ description: 'How many sessions it has now' }),
    createdAt: Moment,
  },
  { title: 'AdminProgram' },
)
export type AdminProgram = Static<typeof AdminProgram>

/** `GET /applications` */
export const AdminApplications = Type.Object(
  {
    applications: Type.Array(AdminApplication),
    programs: Type.Array(AdminProgram, { description: 'Programs of documents. Nothing of them can be changed here' }),
  },
  { title: 'AdminApplications' },
)
export type AdminApplications = Static<typeof AdminApplications>

/** `POST /applications/:id/end-access`: 204. All tokens and sessions of the application or the program end. */
export const AdminEndAccess = Type.Object({ reason: Reason }, { title: 'AdminEndAccess', additionalProperties: false })

const longestName = Type.String({ maxLength: 60 })
const IconBody = Type.String({ maxLength: 60_000, description: 'A PNG of at most 32 KB and 512 pixels, in base64' })

/** `POST /applications`: 201 with the application, its secret and the lines to paste. */
export const AdminNewApplication = Type.Object(
  {
    name: longestName,
    ...newProperties,
    icon: Type.Optional(IconBody),
    proxyProgram: Type.Optional(
      OneOf(['caddy', 'nginx', 'traefik', 'haproxy'], {
        description: 'With `proxy`: whose lines the answer has',
      }),
    ),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminNewApplication', additionalProperties: false },
)
export const AdminAddedApplication = Type.Object(
  {
    application: AdminApplication,
    secret: Nullable(Type.String({ description: 'Shown only now. Null: it needs none' })),
    paste: Type.Array(Type.String(), {
      description: 'Texts to paste into the program and into its proxy, with the secret',
    }),
  },
  { title: 'AdminAddedApplication' },
)
export type AdminAddedApplication = Static<typeof AdminAddedApplication>

export const AdminApplicationLines = Type.Object(
  {
    lines: Type.Array(
      Type.Object({
        for: OneOf(['program', 'caddy', 'nginx', 'traefik', 'haproxy']),
        text: Type.String(),
      }),
      { description: 'What goes into the settings of the program, and of each proxy. No secret is in it' },
    ),
  },
  { title: 'AdminApplicationLines' },
)
export type AdminApplicationLines = Static<typeof AdminApplicationLines>

/**
 * `PATCH /applications/:id` with `If-Match`: answers with the application. What is left out stays; null is the default. A reason is needed
 * if users may lose their access.
 */
export const AdminApplicationPatch = Type.Object(
  {
    name: Type.Optional(longestName),
    ...changedProperties,
    icon: Type.Optional(Nullable(IconBody)),
    endAccess: Type.Optional(
      Type.Boolean({ description: 'Also ends all tokens and sessions of the application, in the same step' }),
    ),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminApplicationPatch', additionalProperties: false },
)
export type AdminApplicationPatch = Static<typeof AdminApplicationPatch>

/** `DELETE /applications/:id` with `If-Match`: 204. The name is typed, and stands for the reason. */
export const AdminApplicationDeletion = Type.Object(
  { name: longestName },
  { title: 'AdminApplicationDeletion', additionalProperties: false },
)

/** `POST /applications/:id/secrets` with `If-Match`: 201. `DELETE /applications/:id/secrets/:n`: 204; `n` is the id of the secret. */
export const AdminAddedSecret = Type.Object(
  { id: Type.String(), secret: Type.String({ description: 'Shown only now' }), version: Version },
  { title: 'AdminAddedSecret' },
)

// ── Resources

/** A resource, with the properties that a configuration file can have, defaults too. */
export const AdminResource = Type.Object(
  {
    ...shownResourceProperties,
    id: Type.String(),
    name: Type.String(),
    version: Version,
    setBy: ThingSetBy,
    createdAt: Moment,
    paste: Type.String({ description: 'The lines for a server with `@latchkey/verify`' }),
  },
  { title: 'AdminResource' },
)
export type AdminResource = Static<typeof AdminResource>

/** `GET /resources` */
export const AdminResources = Type.Object({ resources: Type.Array(AdminResource) }, { title: 'AdminResources' })

/** `POST /resources`: 201 with the resource. */
export const AdminNewResource = Type.Object(
  { name: longestName, ...newResourceProperties, reason: Type.Optional(Reason) },
  { title: 'AdminNewResource', additionalProperties: false },
)

/**
 * `PATCH /resources/:id` with `If-Match`: answers with the resource. What is left out stays; null is the default. A reason is needed if
 * users may lose their access.
 */
export const AdminResourcePatch = Type.Object(
  {
    name: Type.Optional(longestName),
    ...changedResourceProperties,
    endAccess: Type.Optional(
      Type.Boolean({ description: 'Also ends the sessions of all programs for the resource, in the same step' }),
    ),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminResourcePatch', additionalProperties: false },
)
export type AdminResourcePatch = Static<typeof AdminResourcePatch>

/** `DELETE /resources/:id` with `If-Match`: 204. The name is typed, and stands for the reason. */
export const AdminResourceDeletion = Type.Object(
  { name: longestName },
  { title: 'AdminResourceDeletion', additionalProperties: false },
)

// ── Settings

const SettingSetBy = Type.Unsafe<SetBy>({
  anyOf: [
    Type.Object({ file: Type.String() }),
    Type.Object({ page: Type.String(), at: Moment }),
    { type: 'string', enum: ['environment', 'default'] },
  ],
  description:
    '`environment`: a variable, or production without `SMTP_URL`. A file: its name. `page`: who has set it there, or with a command',
})

/** A setting that can change while the service runs. */
export const AdminSetting = Type.Object(
  {
    name: OneOf(liveSettingNames),
    variable: Type.String({ description: 'The variable that counts more than file and page' }),
    value: Type.Unsafe<string | string[]>({
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    }),
    default: Type.Unsafe<string | string[]>({
      anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }],
    }),
    choices: Type.Array(Type.String(), { description: 'Its possible values; empty for a list of texts' }),
    setBy: SettingSetBy,
    version: Version,
  },
  { title: 'AdminSetting' },
)
export type AdminSetting = Static<typeof AdminSetting>

/** `GET /settings` */
export const AdminSettings = Type.Object(
  {
    settings: Type.Array(AdminSetting),
    applicationsCanChange: Type.Boolean({ description: 'False: `ADMIN_APPLICATIONS=off`' }),
    variables: Type.Array(
      Type.Object({
        name: OneOf<ShownVariable>(shownVariables),
        value: Nullable(Type.String({ description: 'Of a file its name without folders' })),
      }),
      { description: 'What variables set about looks, words, profile fields, terms and links' },
    ),
  },
  { title: 'AdminSettings' },
)
export type AdminSettings = Static<typeof AdminSettings>
/** `PUT /settings/:name` with `If-Match`. `DELETE /settings/:name`: back to the default. Both answer with the setting. */
export const AdminSettingChange = Type.Object(
  {
    value: Type.Unsafe<unknown>({
      anyOf: [
        { type: 'string', maxLength: 100 },
        { type: 'array', items: { type: 'string', maxLength: 253 }, maxItems: 100 },
      ],
    }),
    reason: Type.Optional(Reason),
  },
  { title: 'AdminSettingChange', additionalProperties: false },
)

/**
 * `POST /events/:id/change-back`: changes back what the event is about, if nothing has changed it since (412). `endAccess` ends all tokens
 * and sessions of the application or the resource in the same step. `secret`: of an application that was deleted and is there again.
 */
export const AdminChangeBack = Type.Object(
  { endAccess: Type.Optional(Type.Boolean()), reason: Reason },
  { title: 'AdminChangeBack' },
)
export const AdminChangedBack = Type.Object(
  { event: Id, secret: Nullable(Type.String({ description: 'Shown only now' })) },
  { title: 'AdminChangedBack' },
)
