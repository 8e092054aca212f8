import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { readFieldDefinitions } from '../users/field-definitions.js'
import { readOperatorFile } from './operator-file.js'

/** Reads the file of PROFILE_FIELDS_FILE: the fields that users are asked for. */
export const readProfileFields = async (path: string | undefined): Promise<readonly ProfileFieldDefinition[]> =>
  path === undefined ? [] : readOperatorFile('PROFILE_FIELDS_FILE', path, readFieldDefinitions)
