import type { UsedApplication } from '../applications/used-applications.js'
import type { FieldValues } from '../contract/profile-fields.js'
import {
  type Account,
  builtInFieldNames,
  builtInFieldsForPrograms,
  type Passkey as PasskeyBody,
  type ServiceUser,
  type UsedApplication as UsedApplicationBody,
} from '../contract/schemas.js'

import type { Passkey } from '../factors/passkeys.js'
import { builtInValues } from '../users/built-in-fields.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { User } from '../users/users.js'

type SharedFields = Pick<User, 'id' | 'email' | 'username' | 'provider' | 'providers' | 'groups' | 'createdAt'>

/** The fields of every body about a user. If this misses a field of the contract, it does not compile. */
const sharedBody = (
  { id, email, username, provider, providers, groups, createdAt }: SharedFields,
  fields: FieldValues,
) => ({
  id,
  email,
  username,
  provider,
  providers,
  groups: [...groups],
  fields,
  createdAt: createdAt.toISOString(),
})

/** A user as they see themselves. The export passes every field that is stored, the account page those of PROFILE_FIELDS_FILE. */
export const accountBody = (user: User, fields: FieldValues): Account => ({
  ...sharedBody(user, fields),
  ...builtInValues(user, builtInFieldNames),
  emailProven: user.emailProven,
  emailClaimed: user.emailClaimed,
  hasPassword: user.passwordHash !== undefined,
})

export const passkeyBody = ({ id, name, createdAt, lastUsedAt, synced }: Passkey): PasskeyBody => ({
  id,
  name,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
  synced,
})

export const usedApplicationBody = ({ application, since, lastUsedAt }: UsedApplication): UsedApplicationBody => ({
  ...application,
  since: since.toISOString(),
  lastUsedAt: lastUsedAt.toISOString(),
})

/** A user as other programs see them. */
export const serviceUserBody = (
  user: SharedFields & Pick<User, 'fields' | 'disabled' | (typeof builtInFieldsForPrograms)[number]>,
  { knownValues }: Pick<ProfileFields, 'knownValues'>,
): ServiceUser => ({
  ...sharedBody(user, knownValues(user.fields)),
  ...builtInValues(user, builtInFieldsForPrograms),
  disabled: user.disabled,
})
