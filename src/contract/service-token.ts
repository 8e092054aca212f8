import { type Static, Type } from 'typebox'

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
    amr: Type.Array(Type.String()),
    mfa_time: Type.Optional(Type.Integer()),
    groups: Type.Optional(Type.Array(Type.String(), { description: 'With the scope groups' })),
  },
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
