import { readFile } from 'node:fs/promises'
import { isRefused } from '../contract/outcome.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { readFieldDefinitions } from '../domain/profile-fields/field-definitions.js'
import { whyUnreadable } from '../lib/file-faults.js'
import { OperatorError } from '../lib/operator-error.js'
import { parseStrictJson } from '../lib/strict-json.js'

const fault = (sentence: string) => new OperatorError(`PROFILE_FIELDS_FILE: ${sentence}`)

const parserFault = (text: string) => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** The parser counts characters, and of a wrong one it only repeats the text around it: an operator needs the line. */
const namedLine = (text: string, message: string) => {
  const [, what, position] = /^(.+?)(?: in JSON at position (\d+).*|, (?:\.{3})?".*)$/s.exec(message) ?? []
  if (what === undefined) return message
  const lines = text.split('\n')
  // What only ends too early has another fault, so the first lines that have this one end with it.
  const line = position
    ? text.slice(0, Number(position)).split('\n').length
    : 1 + lines.findIndex((_, at) => parserFault(lines.slice(0, at + 1).join('\n'))?.startsWith(what))
  return `${what} in line ${line}`
}

const jsonFault = (bytes: Uint8Array, path: string) => {
  const text = new TextDecoder().decode(bytes)
  const message = parserFault(text)
  return message === undefined
    ? fault(`${path} has a key twice, or characters that are no UTF-8`)
    : fault(`${path} is no JSON: ${namedLine(text, message)}`)
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
