import { type Static, Type } from 'typebox'
import { feedbackIds, passwordErrorIds } from './password-rules.js'
import { type RefusalCode, refusalCodes, refusals } from './refusals.js'
import { type ProofMethod, proofMethods } from './second-factors.js'

export const OneOf = <const Value extends string>(values: readonly Value[], options?: { description: string }) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })

const limitCodes = refusalCodes.filter((code) => refusals[code].status === 429)
const Code = Type.Unsafe<RefusalCode>({
  type: 'string',
  enum: refusalCodes.filter((code) => !limitCodes.includes(code)),
  title: 'RefusalCode',
})

/** The body of most refusals. Others have more, or no code. */
export const ErrorBody = Type.Object({ error: Type.String(), message: Type.String(), code: Code }, { title: 'Error' })

/** A failure of the service, with the id of the request in its log. */
export const FailureBody = Type.Object(
  {
    ...ErrorBody.properties,
    requestId: Type.String({ format: 'uuid', description: 'Also in the header X-Request-Id' }),
  },
  { title: 'Failure' },
)

/** The bodies of docs/specification.md, 2.6. Only that of the login limiter has `retryAfter`. */
export const Limited = Type.Object({ error: Type.String(), message: Type.String() }, { title: 'Limited' })
export const LoginLimited = Type.Object(
  { ...Limited.properties, retryAfter: Type.Integer() },
  { title: 'LoginLimited' },
)

/** The refusal of a change that needs a fresh proof, with the methods that the account has. */
export const FreshSignInRequired = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('fresh_sign_in_required'),
    methods: Type.Array(OneOf<ProofMethod>(proofMethods)),
  },
  { title: 'FreshSignInRequired' },
)
export type FreshSignInRequired = Static<typeof FreshSignInRequired>

/** The refusal of a value that an application or a setting cannot have. */
export const InvalidConfiguration = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('invalid_configuration'),
    fault: Type.String({ description: 'What is wrong: `bad_address`, `no_group`, `bad_icon` and so on' }),
    value: Type.Optional(Type.String({ description: 'The value that cannot be used, such as an address' })),
  },
  { title: 'InvalidConfiguration' },
)

/** The refusal of one new username too many, with the date from which another is allowed. */
export const TooManyUsernames = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('too_many_usernames'),
    freeFrom: Type.String({ format: 'date-time', description: 'When the oldest former username becomes free' }),
  },
  { title: 'TooManyUsernames' },
)
export type TooManyUsernames = Static<typeof TooManyUsernames>

/** The refusal of a mail to an address that has got enough for now. */
export const TooManyMails = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('too_many_mails'),
    retryAfter: Type.Integer({ description: 'In how many seconds the address can get the next one' }),
  },
  { title: 'TooManyMails' },
)

export const PasswordFindings = Type.Object(
  { errors: Type.Array(OneOf(passwordErrorIds)), feedback: Type.Array(OneOf(feedbackIds)) },
  { title: 'PasswordFindings' },
)

/** The answer to a password that breaks the rules: the error body with the result of docs/specification.md, 2.5. */
export const PasswordRejected = Type.Object(
  {
    error: Type.String(),
    message: Type.String(),
    code: Type.Literal('password_rejected'),
    valid: Type.Literal(false),
    errors: Type.Array(Type.String()),
    ids: PasswordFindings,
  },
  { title: 'PasswordRejected' },
)
export type PasswordRejected = Static<typeof PasswordRejected>
