import { type Static, type TObject, type TOptional, type TSchema, Type } from 'typebox'
import { accountEventKinds } from './events.js'
import { nextSteps } from './factors.js'
import { groupPattern } from './groups.js'
import { languages } from './languages.js'
import { longestName } from './name-lengths.js'
import { ProfileFieldChanges, ProfileFieldDefinition, ProfileFields } from './profile-fields.js'
import { type ProviderId, providerIdPattern } from './providers.js'
import { FreshSignInRequired, OneOf, PasswordFindings } from './refusal-bodies.js'
import { type SecondFactorMethod, secondFactorMethods } from './second-factors.js'

// The bodies of the API. A schema with a title stands once in the API document, under that name.

export const Nullable = <Each extends TSchema>(each: Each) => Type.Union([each, Type.Null()])
export const Id = Type.String({ format: 'uuid' })
export const Moment = Type.String({ format: 'date-time' })
export const Provider = Type.Unsafe<ProviderId>({ type: 'string', pattern: providerIdPattern, title: 'ProviderId' })

/** The language of the mails to a user. */
export const LanguageCode = OneOf(languages)

/** The schema of an answer with status 204. */
export const NoContent = Type.Unsafe<undefined>({ type: 'null', description: 'Done, no content' })

export const StepUpMethods = Type.Object(
  { methods: FreshSignInRequired.properties.methods },
  { title: 'StepUpMethods' },
)
export type StepUpMethods = Static<typeof StepUpMethods>

export const Strength = Type.Object(
  {
    strength: Type.Object({
      score: Type.Integer({ minimum: 0, maximum: 4 }),
      feedback: Type.Array(Type.String()),
      isStrong: Type.Boolean(),
    }),
    validation: Type.Object({ valid: Type.Boolean(), errors: Type.Array(Type.String()) }),
    ids: PasswordFindings,
  },
  { title: 'Strength' },
)
export type Strength = Static<typeof Strength>

/** The answer to every sign-in. The tokens are in cookies only, never in a body. */
export const SignedIn = Type.Object(
  {
    user: Type.Object(
      { id: Id, username: Type.String(), email: Type.String(), name: Nullable(Type.String()) },
      { title: 'SignedInUser' },
    ),
    accessTokenExpiresAt: Moment,
  },
  { title: 'SignedIn' },
)
export type SignedIn = Static<typeof SignedIn>

export const nextStep = { next: OneOf(nextSteps), methods: Type.Array(OneOf<SecondFactorMethod>(secondFactorMethods)) }

/** The terms that the user is asked to agree to (TERMS_URL, TERMS_VERSION). */
export const TermsOfUse = Type.Object({ version: Type.String(), url: Type.String() }, { title: 'TermsOfUse' })
export type TermsOfUse = Static<typeof TermsOfUse>

/** The proof was right, and `next` says what is asked for now. For a proof or a new factor, the user chooses one of `methods`. */
export const SecondFactorNeeded = Type.Object(nextStep, { title: 'SecondFactorNeeded' })
export type SecondFactorNeeded = Static<typeof SecondFactorNeeded>

export const SecondFactorWaiting = Type.Object(
  {
    ...nextStep,
    fields: Type.Optional(Type.Array(ProfileFieldDefinition, { description: 'With `profile`: what is asked for' })),
    terms: Type.Optional(TermsOfUse),
    expiresAt: Moment,
    mailedCodeRequired: Type.Boolean({
      description: 'Whether the code of the mail must be sent before a factor can be added',
    }),
    linkRequired: Type.Boolean({
      description: 'Whether a factor can be added only after a link from an operator, because no code can be mailed',
    }),
    passwordRequired: Type.Boolean({
      description: 'After a sign-in by mail: whether the password must be sent before a factor can be added',
    }),
    trustDevice: Type.Boolean({
      description:
        'Whether `trustDevice: true` can be sent with a code of the authenticator app. It does nothing with any other method',
    }),
    trustedFor: Nullable(
      Type.Integer({ description: 'For how many seconds the device would be trusted; null if that is not offered' }),
    ),
  },
  { title: 'SecondFactorWaiting' },
)
export type SecondFactorWaiting = Static<typeof SecondFactorWaiting>

export const Caller = Type.Object(
  { user: Type.Object({ id: Id, username: Type.String() }), sessionId: Id, expiresAt: Moment },
  { title: 'Caller' },
)
export type Caller = Static<typeof Caller>

/** The fields that identify a user, wherever one is named. */
const identifying = { id: Id, email: Type.String(), username: Type.String() }
const providersOfUser = { provider: Nullable(Provider), providers: Type.Array(Provider) }
const groupsAndFields = { groups: Type.Array(Type.String({ pattern: groupPattern })), fields: ProfileFields }

/** The fields about themselves that users change on the account page. Those that an operator defines are `ProfileFields`. */
export const builtInFields = {
  name: {
    value: Nullable(Type.String()),
    change: Nullable(Type.String({ maxLength: longestName })),
    forPrograms: true,
  },
  language: { value: Nullable(LanguageCode), change: LanguageCode, forPrograms: false },
} as const satisfies Record<string, { value: TSchema; change: TSchema; forPrograms: boolean }>

type Fields = typeof builtInFields
export type BuiltInField = keyof Fields
export const builtInFieldNames = Object.keys(builtInFields) as readonly BuiltInField[]
type BuiltInFieldForPrograms = {
  [Name in BuiltInField]: Fields[Name]['forPrograms'] extends true ? Name : never
}[BuiltInField]
export const builtInFieldsForPrograms = builtInFieldNames.filter(
  (name): name is BuiltInFieldForPrograms => builtInFields[name].forPrograms,
)

const valuesOf = <Name extends BuiltInField>(names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, builtInFields[name].value])) as {
    [Each in Name]: Fields[Each]['value']
  }
const changes = Object.fromEntries(
  builtInFieldNames.map((name) => [name, Type.Optional<TSchema>(builtInFields[name].change)]),
) as { [Name in BuiltInField]: TOptional<Fields[Name]['change']> }

export const Account = Type.Object(
  {
    ...identifying,
    ...valuesOf(builtInFieldNames),
    ...providersOfUser,
    ...groupsAndFields,
    emailProven: Type.Boolean({
      description: 'Whether a mail of ours, or the word of a provider, has proven the address',
    }),
    emailClaimed: Type.Boolean({
      description:
        'Whether only the user says that the address is theirs: then it opens nothing, and no change is mailed to it',
    }),
    hasPassword: Type.Boolean(),
    createdAt: Moment,
  },
  { title: 'Account' },
)
export type Account = Static<typeof Account>

/** What users change about themselves on the account page. */
export const AccountPatch = Type.Object(
  {
    // The schema allows more than a username may have, so that the rules of usernames give the refusal.
    username: Type.Optional(Type.String({ maxLength: 1024 })),
    ...changes,
    fields: Type.Optional(ProfileFieldChanges),
  },
  { title: 'AccountPatch' },
)
export type AccountPatch = Static<typeof AccountPatch>

/** A user as other programs see it. */
export const ServiceUser = Type.Object(
  {
    ...identifying,
    ...valuesOf(builtInFieldsForPrograms),
    ...providersOfUser,
    ...groupsAndFields,
    createdAt: Moment,
    disabled: Type.Boolean(),
  },
  { title: 'ServiceUser' },
)
export type ServiceUser = Static<typeof ServiceUser>

export const Revocations = Type.Object(
  {
    entries: Type.Array(
      Type.Object({
        sid: Id,
        below: Nullable(Type.Integer({ description: 'Access tokens with a lower `gen` are refused; null means all' })),
      }),
    ),
    users: Type.Optional(
      Type.Array(
        Type.Object({
          userId: Id,
          before: Type.Integer({
            description: 'Access tokens of the user with a lower `iat` are refused, whatever session they are of',
          }),
        }),
        { description: 'Users all of whose sessions have ended. Missing if there are none' },
      ),
    ),
    cursor: Type.String(),
    complete: Type.Boolean({
      description: 'True: the whole list begins with these entries, which replace all that you had',
    }),
  },
  { title: 'Revocations' },
)
export type Revocations = Static<typeof Revocations>

/** `browser` and `system` are the parts of `device`, which a page can say in its own language. */
const device = { device: Type.String(), browser: Nullable(Type.String()), system: Nullable(Type.String()) }

export const Session = Type.Object(
  {
    id: Id,
    ip: Type.String(),
    userAgent: Type.String(),
    ...device,
    createdAt: Moment,
    lastUsedAt: Moment,
    current: Type.Boolean(),
    methods: Type.Array(Type.String(), { description: 'How the user proved who they are, as in `amr`' }),
    provider: Nullable(Type.String({ description: 'The provider, if the user signed in at one' })),
    administers: Type.Boolean({ description: 'Whether it has made a request as an administrator' }),
    bound: Type.Boolean({
      description: 'Whether it is bound to its device: only a key of the browser renews its tokens',
    }),
    application: Nullable(
      Type.String({
        description: 'The application whose device without a browser uses this session; null for a browser',
      }),
    ),
  },
  { title: 'Session' },
)
export type Session = Static<typeof Session>

export const UsedApplication = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    home: Type.String({ description: 'Where users of the application begin' }),
    since: Moment,
    lastUsedAt: Moment,
  },
  { title: 'UsedApplication' },
)
export type UsedApplication = Static<typeof UsedApplication>

export const UsableApplication = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    home: Type.String({ description: 'Where users of the application begin' }),
    icon: Nullable(Type.String({ description: 'The address of its icon here' })),
  },
  { title: 'UsableApplication' },
)
export type UsableApplication = Static<typeof UsableApplication>

export const Passkey = Type.Object(
  {
    id: Id,
    name: Type.String(),
    createdAt: Moment,
    lastUsedAt: Nullable(Moment),
    synced: Type.Boolean({ description: 'Whether it is copied to other devices of its owner' }),
  },
  { title: 'Passkey' },
)
export type Passkey = Static<typeof Passkey>

/** A request that adds a factor during a sign-in also answers what becomes of the sign-in. */
const finishedSignIn = {
  user: Type.Optional(SignedIn.properties.user),
  accessTokenExpiresAt: Type.Optional(SignedIn.properties.accessTokenExpiresAt),
  next: Type.Optional(nextStep.next),
}
const addedFactor = {
  description: 'If it finished a sign-in: with `user` and `accessTokenExpiresAt`, or with `next`',
}
export const PasskeyAdded = Type.Object(
  { ...Passkey.properties, ...finishedSignIn },
  { title: 'PasskeyAdded', ...addedFactor },
)

const TrustedDevice = Type.Object(
  { id: Id, ip: Type.String(), ...device, createdAt: Moment, expiresAt: Moment },
  { title: 'TrustedDevice' },
)

/** The factors with which an account can sign in. */
export const Factors = Type.Object(
  {
    password: Type.Boolean(),
    totp: Nullable(Type.Object({ createdAt: Moment })),
    recoveryCodes: Type.Object({ left: Type.Integer() }),
    passkeys: Type.Array(Passkey),
    trustedDevices: Type.Array(TrustedDevice),
  },
  { title: 'Factors' },
)
export type Factors = Static<typeof Factors>

export const TotpBegun = Type.Object(
  {
    secret: Type.String({ description: 'In base32' }),
    uri: Type.String({ description: 'otpauth://, for an app on this device' }),
    qr: Type.String({ description: 'The same as a QR code, in SVG' }),
  },
  { title: 'TotpBegun' },
)
export type TotpBegun = Static<typeof TotpBegun>

export const RecoveryCodes = Type.Object(
  { recoveryCodes: Type.Array(Type.String(), { description: 'Shown this once; each works once' }) },
  { title: 'RecoveryCodes' },
)
export type RecoveryCodes = Static<typeof RecoveryCodes>

export const TotpConfirmed = Type.Object(
  { ...RecoveryCodes.properties, ...finishedSignIn },
  { title: 'TotpConfirmed', ...addedFactor },
)

export const AccountEvent = Type.Object(
  {
    id: Id,
    kind: OneOf(accountEventKinds),
    reason: Nullable(Type.String()),
    ip: Type.String(),
    ...device,
    createdAt: Moment,
  },
  { title: 'AccountEvent' },
)
export type AccountEvent = Static<typeof AccountEvent>

/** An application that signs its users in with this service. `home` is its start page. */
export const NamedApplication = Type.Object({ name: Type.String(), home: Type.String() }, { title: 'NamedApplication' })
export type NamedApplication = Static<typeof NamedApplication>

/** The answer to a request that sends a mail, the same whether or not there is an account. */
export const Accepted = Type.Object({ message: Type.String() }, { title: 'Accepted' })
export type Accepted = Static<typeof Accepted>

/** Fields of several requests. Longer values are refused before anything looks at them. */
export const TypedPassword = Type.String({ minLength: 1, maxLength: 1024 })
export const TypedEmail = Type.String({ minLength: 3, maxLength: 254 })
/** A username has no @, so one field takes a username or an email. */
export const TypedLogin = Type.String({ minLength: 1, maxLength: 254, description: 'An email or a username' })
/**
 * The id of the application that sent the user. The page of the mailed link names the application, also in another browser. An
 * unknown id is ignored.
 */
export const SendingApplication = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'The id (`client_id`) of the application that has sent the user here',
})
/** The secret of a mailed link. */
export const LinkToken = Type.String({ minLength: 1, maxLength: 128 })

// The schema allows more than a username may have, so that the rules of usernames give the refusal.
export const TypedUsername = Type.String({ maxLength: 1024, description: 'May be missing with `USERNAMES=from_email`' })

/** The schema of a registration, which requires the username if users choose it. In the type the username stays optional. */
export const withRequiredUsername = <Body extends TObject>(body: Body, source: UsernameSource): Body =>
  source === 'chosen' ? { ...body, required: ['username', ...(body.required ?? [])] } : body

/** `USERNAMES`: whether new users choose their username, or it is made from their address. */
export type UsernameSource = 'chosen' | 'from_email'
