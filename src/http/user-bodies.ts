import {
  type Account,
  type Passkey as PasskeyBody,
  profileFieldNames,
  profileFieldsForPrograms,
  type ServiceUser,
  type UsedApplication as UsedApplicationBody,
} from '../contract/schemas.js'
import type { UsedApplication } from '../domain/authorizations/used-applications.js'
import type { Passkey } from '../domain/passkeys/passkey-records.js'
import { shownProfile } from '../domain/users/profile-fields.js'
import type { User } from '../domain/users/users.js'

/** What every body about a user has. A field that the contract names and this leaves out does not compile. */
const sharedBody = ({ id, email, username, provider, providers, groups, createdAt }: User) => ({
  id,
  email,
  username,
  provider,
  providers,
  groups: [...groups],
  createdAt: createdAt.toISOString(),
})

/** A user as they see themselves: the account page and the export. */
export const accountBody = (user: User): Account => ({
  ...sharedBody(user),
  ...shownProfile(user, profileFieldNames),
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
export const serviceUserBody = (user: User): ServiceUser => ({
  ...sharedBody(user),
  ...shownProfile(user, profileFieldsForPrograms),
  disabled: user.disabled,
})
