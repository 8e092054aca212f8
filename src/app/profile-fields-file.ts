import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { readFieldDefinitions } from '../domain/profile-fields/field-definitions.js'
import { readOperatorFile } from './operator-file.js'

/** What the file that PROFILE_FIELDS_FILE names asks users for. */
export const readProfileFields = async (path: string | undefined): Promise<readonly ProfileFieldDefinition[]> =>
  path === undefined ? [] : readOperatorFile('PROFILE_FIELDS_FILE', path, readFieldDefinitions)
