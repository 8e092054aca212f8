import type { UsedApplication } from '../applications/used-applications.js'
import type { FieldValues } from '../contract/profile-fields.js'
import {
  type Account,
  type BuiltInField,
  builtInFieldNames,
  builtInFieldsForPrograms,
  type Passkey as PasskeyBody,
  type ServiceUser,
  type UsedApplication as UsedApplicationBody,
} from '../contract/schemas.js'
import type { Passkey } from '../factors/passkeys.js'
import { isoTime, showWith, type Views } from '../lib/views.js'
import { builtInValues } from '../users/built-in-fields.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { User } from '../users/users.js'

type UserWithoutBuiltIns = Omit<User, BuiltInField>

const accountViews = {
  id: true,
  email: true,
  username: true,
  provider: true,
  providers: true,
  groups: (groups) => [...groups],
  fields: 'not shown: the caller says which',
  emailProven: true,
  emailClaimed: true,
  firstFactorUntil: 'not shown: part of how a first factor is added',
  passwordHash: 'not shown: it is `hasPassword`',
  createdAt: isoTime,
  disabled: 'not shown: a disabled user sees nothing',
  lockedDownAt: 'not shown: a user whose account is locked down sees nothing',
  passwordDistrusted: 'not shown: only after a lock-down',
  undoCount: 'not shown: a number for transactions',
  hasSignedIn: 'not shown: only before the first sign-in',
} as const satisfies Views<UserWithoutBuiltIns, Account>

/** A user as they see themselves. The export passes every field that is stored, the account page those of PROFILE_FIELDS_FILE. */
export const accountBody = (user: User, fields: FieldValues): Account => ({
  ...showWith(accountViews, user as UserWithoutBuiltIns),
  ...builtInValues(user, builtInFieldNames),
  fields,
  hasPassword: user.passwordHash !== undefined,
})

const passkeyViews = {
  id: true,
  name: true,
  createdAt: isoTime,
  lastUsedAt: (date) => date?.toISOString() ?? null,
  synced: true,
} as const satisfies Views<Passkey, PasskeyBody>

export const passkeyBody = (passkey: Passkey): PasskeyBody => showWith(passkeyViews, passkey)

const usedApplicationViews = {
  application: 'not shown: its fields stand beside the others',
  hearsLogouts: 'not shown: it is for operators',
  since: isoTime,
  lastUsedAt: isoTime,
} as const satisfies Views<UsedApplication, UsedApplicationBody>

export const usedApplicationBody = (used: UsedApplication): UsedApplicationBody => ({
  ...used.application,
  ...showWith(usedApplicationViews, used),
})

type ProgramUser = Pick<
  User,
  | 'id'
  | 'email'
  | 'username'
  | 'provider'
  | 'providers'
  | 'groups'
  | 'fields'
  | 'createdAt'
  | 'disabled'
  | (typeof builtInFieldsForPrograms)[number]
>

/** A user as other programs see them. If this misses a field of the contract, it does not compile. */
export const serviceUserBody = (user: ProgramUser, { knownValues }: ProfileFields): ServiceUser => ({
  id: user.id,
  email: user.email,
  username: user.username,
  provider: user.provider,
  providers: user.providers,
  groups: [...user.groups],
  fields: knownValues(user.fields),
  createdAt: user.createdAt.toISOString(),
  ...builtInValues(user, builtInFieldsForPrograms),
  disabled: user.disabled,
})
