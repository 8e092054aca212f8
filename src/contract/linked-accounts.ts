import { type Static, Type } from 'typebox'

/** An account at a provider that signs the user in. */
export const LinkedAccount = Type.Object(
  {
    provider: Type.String(),
    email: Type.Union([Type.String({ description: 'Its address there, at the last sign-in with it' }), Type.Null()]),
  },
  { title: 'LinkedAccount' },
)
export type LinkedAccount = Static<typeof LinkedAccount>
