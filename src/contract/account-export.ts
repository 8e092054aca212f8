import { type Static, Type } from 'typebox'
import { PersonalToken } from './personal-tokens.js'
import { Account, Factors, Id, Moment, UsedApplication } from './schemas.js'

const Null = Type.Null()
const Origin = { ip: Type.String(), userAgent: Type.String() }

/** Everything that is stored about a user, without secrets: no hash, no key and no token is in it. */
export const AccountExport = Type.Object(
  {
    exportedAt: Moment,
    account: Account,
    emailChange: Type.Union([Type.Object({ email: Type.String(), askedAt: Moment, expiresAt: Moment }), Null], {
      description: 'A new address that is not confirmed yet',
    }),
    emailHistory: Type.Array(Type.Object({ email: Type.String(), replacedAt: Moment }), {
      description: 'The addresses of the account in the last 90 days',
    }),
    formerEmails: Type.Array(Type.Object({ email: Type.String(), reservedUntil: Moment }), {
      description: 'The former addresses that are still reserved for the user',
    }),
    formerUsernames: Type.Array(
      Type.Object({
        username: Type.String({ description: 'In the form in which usernames are compared' }),
        reservedUntil: Moment,
      }),
    ),
    registrations: Type.Array(
      Type.Object({ email: Type.String(), confirmedAt: Type.Union([Moment, Null]), expiresAt: Moment }),
      {
        description: 'Registrations of the last day with the present address or a former one, also by others',
      },
    ),
    invitations: Type.Array(
      Type.Object({
        email: Type.String(),
        groups: Type.Array(Type.String()),
        invitedBy: Type.Union([Type.String(), Null], { description: 'The name of the inviter' }),
        returnTo: Type.Union([Type.String(), Null]),
        createdAt: Moment,
        expiresAt: Moment,
      }),
      { description: 'Open invitations to the present address and to former ones' },
    ),
    agreedTerms: Type.Array(Type.Object({ version: Type.String(), agreedAt: Moment })),
    identities: Type.Array(
      Type.Object({
        provider: Type.String(),
        subject: Type.String({ description: 'The id of the account at the provider' }),
        email: Type.Union([Type.String(), Null], {
          description: 'The address of that account, as of the last sign-in with it',
        }),
        linkedAt: Moment,
      }),
    ),
    undoneIdentities: Type.Array(Type.Object({ provider: Type.String(), subject: Type.String(), undoneAt: Moment }), {
      description: 'Removed by the user, an undo link or an operator. Only a session of the user can link them again',
    }),
    sessions: Type.Array(
      Type.Object({
        id: Id,
        ...Origin,
        username: Type.Union([Type.String(), Null], { description: 'The username at the time of the sign-in' }),
        methods: Type.Array(Type.String()),
        provider: Type.Union([Type.String(), Null], {
          description: 'The provider, if the user signed in at one',
        }),
        administers: Type.Boolean({ description: 'Whether it has made a request as an administrator' }),
        bound: Type.Boolean({ description: 'Whether it is bound to its device' }),
        application: Type.Union([Type.String(), Null], {
          description: 'The application whose device without a browser uses this session',
        }),
        createdAt: Moment,
        lastUsedAt: Moment,
        expiresAt: Moment,
      }),
    ),
    applications: Type.Array(UsedApplication, {
      description: 'The applications that have access in a session of the user',
    }),
    consents: Type.Array(
      Type.Object({ application: Type.String(), scopes: Type.Array(Type.String()), givenAt: Moment }),
      { description: 'What the user has agreed to share with an application' },
    ),
    factors: Type.Object({
      totp: Factors.properties.totp,
      recoveryCodes: Factors.properties.recoveryCodes,
      passkeys: Factors.properties.passkeys,
    }),
    trustedDevices: Type.Array(Type.Object({ id: Id, ...Origin, createdAt: Moment, expiresAt: Moment })),
    personalTokens: Type.Array(PersonalToken),
    events: Type.Array(
      Type.Object({
        id: Id,
        kind: Type.String(),
        reason: Type.Union([Type.String(), Null]),
        ...Origin,
        createdAt: Moment,
      }),
    ),
    eventsComplete: Type.Boolean({ description: 'False if there are more: these are the newest 10,000' }),
    mails: Type.Array(
      Type.Object({
        to: Type.String({ description: 'In the form in which addresses are compared' }),
        kind: Type.String(),
        createdAt: Moment,
        sentAt: Type.Union([Moment, Null]),
      }),
      {
        description:
          'Mails of the last day and those that wait, to the present address and to former ones. Mails to a new address that the user asked for are left out: their kind would show whether it has an account',
      },
    ),
  },
  { title: 'AccountExport' },
)
export type AccountExport = Static<typeof AccountExport>

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
