import { readFile } from 'node:fs/promises'
import { isRefused } from '../contract/outcome.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'

import { parseServiceKeys } from './service-keys.js'

const faults = {
  malformed_line: 'is not a name and the SHA-256 of a key, with or without scopes and until=DATE',
  name_taken: 'has a name that another line has',
}

/** The keys in the text of the file, or an error with one sentence for the operator. */
export const serviceKeysIn = (text: string, path: string) => {
  const keys = parseServiceKeys(text)
  if (!isRefused(keys)) return keys
  throw new OperatorError(`SERVICE_KEYS_FILE: line ${keys.line} of ${path} ${faults[keys.refused]}`)
}

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'ENOENT'

/** The keys in the file that SERVICE_KEYS_FILE names. */
export const readServiceKeys = async (path: string | undefined) => {
  if (path === undefined) return []
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const hint = isMissing(error) ? '. The command `latchkey service-key add NAME` makes it.' : ''
    throw new OperatorError(`SERVICE_KEYS_FILE: the file cannot be read: ${path} (${whyUnreadable(error)})${hint}`)
  })
  return serviceKeysIn(text, path)
}
