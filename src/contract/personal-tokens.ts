import { type Static, Type } from 'typebox'
import { longestTokenName } from './name-lengths.js'
import { Id, Moment, Nullable } from './schemas.js'

/** How long a token works: as its user says, or this. */
export const usualTokenDays = 90
const maxTokenDays = 366
/** How many a user can have. */
export const maxTokens = 20

/** An application that a token opens, or can open. */
const OpenedApplication = Type.Object({ id: Type.String(), name: Type.String() }, { title: 'OpenedApplication' })
export type OpenedApplication = Static<typeof OpenedApplication>

/** A token as its user sees it. The token itself is shown once, when it is made. */
export const PersonalToken = Type.Object(
  {
    id: Id,
    name: Type.String(),
    applications: Type.Array(OpenedApplication, {
      description: 'Those that it names and that are still there. It opens them while its user may use them',
    }),
    createdAt: Moment,
    expiresAt: Moment,
    lastUsedAt: Nullable(Moment),
  },
  { title: 'PersonalToken' },
)
export type PersonalToken = Static<typeof PersonalToken>

export const PersonalTokens = Type.Object(
  {
    tokens: Type.Array(PersonalToken, { description: 'The newest first' }),
    applications: Type.Array(OpenedApplication, {
      description: 'What a new token can name: applications behind a proxy that take tokens, and that the user may use',
    }),
  },
  { title: 'PersonalTokens' },
)
export type PersonalTokens = Static<typeof PersonalTokens>

export const NewPersonalToken = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: longestTokenName }),
    applications: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      minItems: 1,
      maxItems: 100,
      uniqueItems: true,
      description: 'The ids of those that it opens',
    }),
    expiresInDays: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxTokenDays, description: `${usualTokenDays} if it is not given` }),
    ),
  },
  { title: 'NewPersonalToken' },
)
export type NewPersonalToken = Static<typeof NewPersonalToken>

export const MadePersonalToken = Type.Object(
  { id: Id, token: Type.String({ description: 'Shown only now' }) },
  { title: 'MadePersonalToken' },
)
export type MadePersonalToken = Static<typeof MadePersonalToken>
