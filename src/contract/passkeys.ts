import { type Static, Type } from 'typebox'

const transports = Type.Array(Type.String({ maxLength: 32 }), { maxItems: 16 })
const Encoded = (maxLength: number) => Type.String({ maxLength, pattern: '^[\\w-]*$' })

/**
 * The result of `PublicKeyCredential.toJSON()` in a browser, for both ceremonies. If a part of it is wrong, the answer is that of any
 * wrong passkey.
 */
export const PasskeyCredential = Type.Object(
  {
    id: Encoded(1_400),
    rawId: Encoded(1_400),
    type: Type.String({ maxLength: 32 }),
    response: Type.Object({
      clientDataJSON: Encoded(4_096),
      attestationObject: Type.Optional(Encoded(8_192)),
      transports: Type.Optional(transports),
      authenticatorData: Type.Optional(Encoded(4_096)),
      signature: Type.Optional(Encoded(2_048)),
      userHandle: Type.Optional(Type.Union([Encoded(128), Type.Null()])),
    }),
    clientExtensionResults: Type.Optional(
      Type.Object({ credProps: Type.Optional(Type.Object({ rk: Type.Optional(Type.Boolean()) })) }),
    ),
  },
  { title: 'PasskeyCredential', description: 'What `PublicKeyCredential.toJSON()` gives in a browser' },
)
export type PasskeyCredential = Static<typeof PasskeyCredential>

const Descriptor = Type.Object({ id: Type.String(), type: Type.Literal('public-key'), transports })

/** For `PublicKeyCredential.parseRequestOptionsFromJSON()`. */
export const PasskeyRequestOptions = Type.Object(
  {
    challenge: Type.String(),
    timeout: Type.Integer(),
    rpId: Type.String(),
    allowCredentials: Type.Array(Descriptor),
    userVerification: Type.Literal('required'),
  },
  { title: 'PasskeyRequestOptions' },
)
export type PasskeyRequestOptions = Static<typeof PasskeyRequestOptions>

/** For `PublicKeyCredential.parseCreationOptionsFromJSON()`. */
export const PasskeyCreationOptions = Type.Object(
  {
    rp: Type.Object({ id: Type.String(), name: Type.String() }),
    user: Type.Object({ id: Type.String(), name: Type.String(), displayName: Type.String() }),
    challenge: Type.String(),
    pubKeyCredParams: Type.Array(Type.Object({ type: Type.Literal('public-key'), alg: Type.Integer() })),
    timeout: Type.Integer(),
    excludeCredentials: Type.Array(Descriptor),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Literal(true),
      userVerification: Type.Literal('required'),
    }),
    attestation: Type.Literal('none'),
    extensions: Type.Object({ credProps: Type.Literal(true) }),
  },
  { title: 'PasskeyCreationOptions' },
)
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>
