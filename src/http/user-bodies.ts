import type { Account, ServiceUser } from '../contract/schemas.js'
import type { User } from '../domain/users/users.js'

/** What every body about a user has. A field that the contract names and this leaves out does not compile. */
const sharedBody = ({ id, email, username, name, provider, providers, createdAt }: User) => ({
  id,
  email,
  username,
  name,
  provider,
  providers,
  createdAt: createdAt.toISOString(),
})

/** A user as they see themselves: the account page and the export. */
export const accountBody = (user: User): Account => ({
  ...sharedBody(user),
  hasPassword: user.passwordHash !== undefined,
  language: user.language ?? null,
})

/** A user as other programs see them. */
export const serviceUserBody = (user: User): ServiceUser => ({ ...sharedBody(user), disabled: user.disabled })
