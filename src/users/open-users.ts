import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import type { Keys } from '../keys/open-keys.js'
import type { Platform } from '../platform/platform.js'
import type { Config } from '../settings/config.js'
import { usernameKey } from './names.js'
import { createNewUsers } from './new-users.js'
import { createProfileFields } from './profile-fields.js'
import { createTerms } from './terms.js'
import { createNameMarks, createUsernames } from './usernames.js'
import { createUserChanges, createUsers } from './users.js'

export type UsersRoom = ReturnType<typeof openUsers>

export const openUsers = (
  config: Config,
  { database, clock, fieldDefinitions }: Platform & { fieldDefinitions: readonly ProfileFieldDefinition[] },
  { keysFor }: Keys,
) => {
  const usernames = createUsernames({ database, clock, reserved: config.reservedUsernames.map(usernameKey) })
  return {
    usernames,
    users: createUsers({ database, clock }),
    newUsers: createNewUsers({ database, clock, usernames }),
    userChanges: createUserChanges({ database, clock }),
    profileFields: createProfileFields({ database, clock, definitions: fieldDefinitions }),
    terms: createTerms({ database, clock, version: config.termsVersion }),
    // Names that users type are stored and counted as keyed hashes.
    nameMarks: createNameMarks(keysFor('typed names')),
  }
}
