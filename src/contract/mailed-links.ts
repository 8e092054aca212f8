import { type Static, Type } from 'typebox'
import { nextSteps } from './factors.js'
import { ProfileFieldDefinition } from './profile-fields.js'
import { OneOf } from './refusal-bodies.js'
import { LanguageCode, Moment, NamedApplication, Nullable, nextStep, TermsOfUse } from './schemas.js'
import { type SecondFactorUndo, secondFactors } from './second-factors.js'

const sender = Type.Optional({ ...NamedApplication, description: 'The application that had sent the user here' })

/** The state of a mailed link, or of this browser's registration. `passwordRequired`: the registration began in another browser. */
export const LinkState = Type.Object(
  {
    state: OneOf(['waiting', 'confirmed', 'replaced', 'unknown']),
    passwordRequired: Type.Boolean(),
    newerMail: Type.Boolean({ description: 'Whether a newer mail was sent to the address' }),
    codeUsable: Type.Boolean({ description: 'Whether this browser has attempts left for the code' }),
    application: sender,
  },
  { title: 'LinkState' },
)
export type LinkState = Static<typeof LinkState>

/** What the page of a reset link learns before the link is used. */
export const ResetLink = Type.Object({ username: Type.String(), application: sender }, { title: 'ResetLink' })
export type ResetLink = Static<typeof ResetLink>

/** A link of an invitation. */
export const InvitationState = Type.Object(
  {
    email: Type.String(),
    provesAddress: Type.Boolean({
      description: 'Whether the link is the one in the mail: then a registration with it needs no confirmation',
    }),
    printed: Type.Boolean({
      description:
        'Whether the invitation was printed for an operator: a registration with it needs no confirmation either, and its address stays unproven',
    }),
    groups: Type.Array(Type.String(), { description: 'The groups that its user joins' }),
    invitedBy: Nullable(Type.String({ description: 'The name of the inviter' })),
    returnTo: Nullable(Type.String({ description: 'The page to go to afterwards' })),
    next: OneOf(['register', 'sign_in', 'join', 'nothing'], {
      description:
        'What its user does: creates an account, signs in first, joins the groups, or nothing, because this account has no group to join. Only the link of the mail says that the address has an account',
    }),
  },
  { title: 'InvitationState' },
)
export type InvitationState = Static<typeof InvitationState>

/** The groups that an account has joined by an invitation. It may have been in some of them before. */
export const JoinedGroups = Type.Object({ groups: Type.Array(Type.String()) }, { title: 'JoinedGroups' })
export type JoinedGroups = Static<typeof JoinedGroups>

/** A link in a mail to a new email address. */
export const EmailLink = Type.Object(
  {
    email: Type.String(),
    present: Type.Boolean({ description: 'Whether the account has this address already, and it is only not proven' }),
    proof: OneOf(['session', 'password', 'sign_in'], {
      description: 'What confirms the address: the session of this browser, the password, or a sign-in first',
    }),
  },
  { title: 'EmailLink' },
)
export type EmailLink = Static<typeof EmailLink>

export const WaitingEmail = Type.Object(
  {
    email: Type.String(),
    expiresAt: Moment,
    codeUsable: Type.Boolean({ description: 'Whether this session can confirm it with the code of the mail' }),
  },
  { title: 'WaitingEmail' },
)
export type WaitingEmail = Static<typeof WaitingEmail>

export type UndoKind = SecondFactorUndo | 'token' | 'provider' | 'username' | 'language' | 'password' | 'email'
const undoKinds: readonly UndoKind[] = [
  ...Object.values(secondFactors).flatMap(({ undos }) => undos),
  'token',
  'provider',
  'username',
  'language',
  'password',
  'email',
]

/** A link in a mail about a change of the account. */
export const UndoState = Type.Object(
  {
    kind: OneOf(undoKinds, { description: 'What the mail with the link was about' }),
    username: Type.String({ description: 'The present username' }),
    email: Type.String({ description: 'The address to which the mail went, and which the account has afterwards' }),
    disabled: Type.Boolean({
      description: 'The account is disabled or locked down, and the link does not change that',
    }),
    changesBack: Type.Object({
      email: Nullable(Type.String({ description: 'The address that is put back, if the account has another one now' })),
      username: Nullable(Type.String({ description: 'The username that is put back, if it was changed' })),
      language: Nullable(LanguageCode),
      totp: Type.Boolean({ description: 'The authenticator app from before it was replaced works again' }),
    }),
    removes: Type.Object(
      {
        totp: Type.Boolean({ description: 'The authenticator app with its recovery codes' }),
        recoveryCodes: Type.Boolean({ description: 'The recovery codes of an app that stays' }),
        passkeys: Type.Array(Type.String(), { description: 'Their names' }),
        providers: Type.Array(Type.String(), { description: 'Their names' }),
        tokens: Type.Array(Type.String(), { description: 'The names of all personal tokens, whenever they were made' }),
      },
      { description: 'What was added in the last seven days and can still be undone, whichever link is used' },
    ),
    keeps: Type.Object(
      {
        totp: Type.Boolean(),
        passkeys: Type.Array(Type.String()),
        providers: Type.Array(Type.String()),
        name: Nullable(Type.String()),
      },
      { description: 'What stays in the account, for its owner to look at' },
    ),
  },
  { title: 'UndoState' },
)
export type UndoState = Static<typeof UndoState>

/** The mail has proven an address that has no account yet. `username` is a proposal; `fields` and `terms` are asked for. */
const registrationStep = {
  email: Type.String(),
  username: Type.String(),
  fields: Type.Array(ProfileFieldDefinition),
  terms: Type.Optional(TermsOfUse),
}
export const MailRegistration = Type.Object(registrationStep, { title: 'MailRegistration' })
export type MailRegistration = Static<typeof MailRegistration>

/** The next step after a sign-in by mail: that of any sign-in, or the registration of an address without an account. */
export const MailLoginNext = Type.Object(
  { ...nextStep, next: OneOf([...nextSteps, 'registration'] as const), ...Type.Partial(MailRegistration).properties },
  { title: 'MailLoginNext' },
)
export type MailLoginNext = Static<typeof MailLoginNext>

/** The state of a mailed link in this browser: it signs in, belongs to another browser, or does not work any more. */
export const MailLoginLink = Type.Object(
  { state: OneOf(['usable', 'other_browser', 'over'] as const) },
  { title: 'MailLoginLink' },
)
export type MailLoginLink = Static<typeof MailLoginLink>
