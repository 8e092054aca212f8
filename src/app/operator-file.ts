import { readFile } from 'node:fs/promises'
import { whyUnreadable } from '../lib/file-faults.js'
import { FaultAtPlace } from '../lib/json-places.js'
import { OperatorError } from '../lib/operator-error.js'
import { parseStrictJson } from '../lib/strict-json.js'

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
    ? `${path} has a key twice, or characters that are no UTF-8`
    : `${path} is no JSON: ${namedLine(text, message)}`
}

/** Reads a JSON file that a setting names. What is wrong with it stops the start with a sentence that names the place. */
export const readOperatorFile = async <Content>(
  setting: string,
  path: string,
  read: (value: unknown) => Content,
): Promise<Content> => {
  const fault = (sentence: string) => new OperatorError(`${setting}: ${sentence}`)
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fault(`the file cannot be read: ${path} (${whyUnreadable(error)})`)
  })
  const parsed = parseStrictJson(bytes)
  if (!parsed) throw fault(jsonFault(bytes, path))
  try {
    return read(parsed.value)
  } catch (error) {
    if (error instanceof FaultAtPlace) throw fault(`${error.message} (${path})`)
    throw error
  }
}
