import { type Static, Type } from 'typebox'

/** An account at a provider that signs the user in. */
export const LinkedAccount = Type.Object(
  {
    provider: Type.String(),
    email: Type.Union([
      Type.String({ description: 'The address of the account at the provider, as of the last sign-in with it' }),
      Type.Null(),
    ]),
  },
  { title: 'LinkedAccount' },
)
export type LinkedAccount = Static<typeof LinkedAccount>
