import { type Static, Type } from 'typebox'
import { OneOf } from './refusal-bodies.js'
import { Id, Moment, NamedApplication, Nullable, StepUpMethods } from './schemas.js'

/** The scopes that an application may ask for. Others are ignored (OpenID Connect Core 1.0, 3.1.2.1). */
export const openidScopes = ['openid', 'profile', 'email', 'groups', 'fields'] as const
export type OpenidScope = (typeof openidScopes)[number]

/** With it a native program asks for a session of its own, which outlives that of the browser. For others it means nothing. */
export const offlineAccess = 'offline_access'

/** The values of `prompt` that an application may send. Others are refused. */
export const openidPrompts = ['none', 'login', 'consent', 'select_account'] as const
export type OpenidPrompt = (typeof openidPrompts)[number]

/** The next step of the page for a request of an application. */
const authorizationSteps = [
  'sign_in',
  'choose',
  'no_access',
  'enrol',
  'prove',
  'consent',
  'done',
  'start_again',
] as const
export type AuthorizationStep = (typeof authorizationSteps)[number]

/** The parameters may have at most so many characters. They are sent as they came, so that a repeated parameter is noticed. */
const longestAuthorizationRequest = 8_192

export const AuthorizationBody = Type.Object({
  parameters: Type.Optional(
    Type.String({
      maxLength: longestAuthorizationRequest,
      description: 'The parameters of the application, encoded as in a form. They begin a new request',
    }),
  ),
  request: Type.Optional(Type.String({ maxLength: 200, description: 'The id of a stored request' })),
})

const authorizationAnswers = ['continue', 'deny'] as const

export const AuthorizationDecisionBody = Type.Object({
  request: Type.String({ maxLength: 200 }),
  user: Type.String({
    maxLength: 64,
    description: 'The id of the user whom the page has shown. If another user is signed in by now, nothing is decided',
  }),
  answer: OneOf(authorizationAnswers),
})

const destinations = ['computer', 'program', 'site'] as const

const OwnSession = Type.Object(
  {
    host: Type.Optional(
      Type.String({ description: 'Where a program that nobody registered comes from. Its name anybody can choose' }),
    ),
    destination: Type.Object({
      kind: OneOf(destinations),
      host: Type.Optional(Type.String({ description: 'The host of a site, or the scheme of a program' })),
    }),
    days: Type.Integer({ description: 'How long the session lasts at most' }),
  },
  { description: 'With `consent`: the program stays signed in, in a session of its own' },
)

const AskedResource = Type.Object(
  {
    name: Type.String(),
    address: Type.String(),
    scopes: Type.Array(Type.Object({ name: Type.String(), description: Nullable(Type.String()) })),
  },
  { description: 'With `consent`: the only one for which the program gets tokens' },
)

export const Authorization = Type.Object(
  {
    request: Type.Optional(Type.String({ description: 'The id of the stored request' })),
    next: OneOf(authorizationSteps),
    application: Type.Optional({
      ...NamedApplication,
      description: 'Missing if the request is unknown, and so is its application',
    }),
    user: Type.Optional(Type.Object({ id: Id, username: Type.String() }, { description: 'Who is signed in' })),
    icon: Type.Optional(
      Nullable(Type.String({ description: 'With `consent`: the address of the icon of the application' })),
    ),
    scopes: Type.Optional(Type.Array(OneOf(openidScopes), { description: 'What the user is asked to share' })),
    shared: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'With `consent`: what of it is a short text, by scope',
      }),
    ),
    ownSession: Type.Optional(OwnSession),
    resource: Type.Optional(AskedResource),
    methods: Type.Optional({
      ...StepUpMethods.properties.methods,
      description: 'With `prove`: each of these proofs is enough',
    }),
    location: Type.Optional(
      Type.String({
        description: 'With `done`: where the browser goes, an address that the application has registered',
      }),
    ),
  },
  { title: 'Authorization' },
)
export type Authorization = Static<typeof Authorization>

/** The next step of the page for a device that waits. `approved` and `denied`: the user has answered. */
const deviceSteps = ['no_access', 'enrol', 'sign_in', 'prove', 'approve', 'approved', 'denied'] as const
export type DeviceStep = (typeof deviceSteps)[number]

const code = Type.String({ maxLength: 64, description: 'As the device shows it' })

export const DeviceCodeBody = Type.Object({ code })

const deviceAnswers = ['approve', 'deny'] as const

export const DeviceDecisionBody = Type.Object({
  code,
  user: Type.String({
    maxLength: 64,
    description: 'The id of the user whom the page has shown. If another user is signed in by now, nothing is decided',
  }),
  answer: OneOf(deviceAnswers),
})
export type DeviceDecisionBody = Static<typeof DeviceDecisionBody>

export const DeviceState = Type.Object(
  {
    next: OneOf(deviceSteps),
    code: Type.String({ description: 'As the device shows it, so that the user can compare both' }),
    application: NamedApplication,
    user: Type.Object({ id: Id, username: Type.String() }, { description: 'Who is signed in' }),
    scopes: Type.Array(OneOf(openidScopes), { description: 'What the user is asked to share' }),
    methods: Type.Optional({
      ...StepUpMethods.properties.methods,
      description: 'With `prove`: each of these proofs is enough',
    }),
    from: Type.Object(
      {
        ip: Type.String(),
        device: Type.String(),
        browser: Nullable(Type.String()),
        system: Nullable(Type.String()),
        userAgent: Type.String(),
        askedAt: Moment,
        sameNetwork: Type.Boolean({ description: 'Whether this browser is in the same network as the device' }),
      },
      { description: 'Where the request of the device came from' },
    ),
  },
  { title: 'DeviceState' },
)
export type DeviceState = Static<typeof DeviceState>

/** The longest query that an application may send, in characters. */
const maxParametersLength = 8 * 1024

/** The reasons why the user cannot return to the application, or why the application is not known. */
const endSessionProblems = [
  'invalid_parameters',
  'invalid_hint',
  'unknown_application',
  'unnamed_application',
  'unknown_address',
] as const

export const EndSessionBody = Type.Object({
  parameters: Type.String({ maxLength: maxParametersLength, description: 'The query that the application has sent' }),
  confirmed: Type.Optional(Type.Boolean({ description: 'The user has agreed to sign out' })),
})

export const EndSession = Type.Object({
  next: Type.Union([Type.Literal('ask'), Type.Literal('done')], {
    description:
      '`ask`: nothing has ended yet: ask the user, then send `confirmed`. `done`: this browser has no session here',
  }),
  application: Type.Optional(Type.Object({ name: Type.String(), home: Type.String() })),
  user: Type.Optional(Type.Object({ username: Type.String() })),
  problem: Type.Optional(Type.Enum(endSessionProblems)),
  location: Type.Optional(Type.String({ description: 'A registered address of the application, with its `state`' })),
})
export type EndSession = Static<typeof EndSession>
