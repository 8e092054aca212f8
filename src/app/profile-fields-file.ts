import { readFile } from 'node:fs/promises'
import { isRefused } from '../contract/outcome.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { readFieldDefinitions } from '../domain/profile-fields/field-definitions.js'
import { whyUnreadable } from '../lib/file-faults.js'
import { OperatorError } from '../lib/operator-error.js'
import { parseStrictJson } from '../lib/strict-json.js'

const fault = (sentence: string) => new OperatorError(`PROFILE_FIELDS_FILE: ${sentence}`)

/** Where JSON stops being JSON, as far as the parser says it. */
const jsonFault = (bytes: Uint8Array, path: string) => {
  try {
    JSON.parse(new TextDecoder().decode(bytes))
    return fault(`${path} has a key twice, or characters that are no UTF-8`)
  } catch (error) {
    return fault(`${path} is no JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

/** What the file that PROFILE_FIELDS_FILE names asks users for. */
export const readProfileFields = async (path: string | undefined): Promise<readonly ProfileFieldDefinition[]> => {
  if (path === undefined) return []
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fault(`the file cannot be read: ${path} (${whyUnreadable(error)})`)
  })
  const parsed = parseStrictJson(bytes)
  if (!parsed) throw jsonFault(bytes, path)
  const definitions = readFieldDefinitions(parsed.value)
  if (isRefused(definitions)) throw fault(`${definitions.fault} (${path})`)
  return definitions
}
