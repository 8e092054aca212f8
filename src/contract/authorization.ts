import { type Static, Type } from 'typebox'
import { OneOf } from './refusal-bodies.js'
import { Id, NamedApplication, StepUpMethods } from './schemas.js'

/** The scopes that an application may ask for. Others are ignored (OpenID Connect Core 1.0, 3.1.2.1). */
export const openidScopes = ['openid', 'profile', 'email', 'groups', 'fields'] as const
export type OpenidScope = (typeof openidScopes)[number]

/** The values of `prompt` that an application may send. Others are refused. */
export const openidPrompts = ['none', 'login', 'consent', 'select_account'] as const
export type OpenidPrompt = (typeof openidPrompts)[number]

/** The grants that the token endpoint accepts. */
export const grantTypes = [
  'authorization_code',
  'refresh_token',
  'urn:ietf:params:oauth:grant-type:device_code',
] as const
export type GrantType = (typeof grantTypes)[number]

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

export const Authorization = Type.Object(
  {
    request: Type.Optional(Type.String({ description: 'The id of the stored request' })),
    next: OneOf(authorizationSteps),
    application: Type.Optional({
      ...NamedApplication,
      description: 'Missing if the request is unknown, and so is its application',
    }),
    user: Type.Optional(Type.Object({ id: Id, username: Type.String() }, { description: 'Who is signed in' })),
    scopes: Type.Optional(Type.Array(OneOf(openidScopes), { description: 'What the user is asked to share' })),
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
