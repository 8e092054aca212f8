import { type Static, Type } from 'typebox'

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
