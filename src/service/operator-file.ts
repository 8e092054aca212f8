import { readFile, stat } from 'node:fs/promises'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import { FaultAtPlace, parseStrictJson } from '../lib/strict-json.js'

import { jsonFault } from './json-faults.js'

/** More than a file with all texts in all languages needs. */
const maxMegabytes = 4

/** Reads a JSON file that a setting names. A fault in it stops the start, with a sentence that names the place of the fault. */
export const readOperatorFile = async <Content>(
  setting: string,
  path: string,
  read: (value: unknown) => Content,
): Promise<Content> => {
  const fault = (sentence: string) => new OperatorError(`${setting}: ${sentence}`)
  const throwUnreadable = (error: unknown): never => {
    throw fault(`the file cannot be read: ${path} (${whyUnreadable(error)})`)
  }
  const { size } = await stat(path).catch(throwUnreadable)
  if (size > maxMegabytes * 1_000_000) throw fault(`${path} is larger than ${maxMegabytes} MB (${size} bytes)`)
  const bytes = await readFile(path).catch(throwUnreadable)
  const parsed = parseStrictJson(bytes)
  if (!parsed) throw fault(`${path} ${jsonFault(bytes)}`)
  try {
    return read(parsed.value)
  } catch (error) {
    if (error instanceof FaultAtPlace) throw fault(`${error.message} (${path})`)
    throw error
  }
}
