import { isCleanText } from '../lib/strict-json.js'

/** The line and column of a character, counted from 1 as editors do. */
const placeOf = (text: string, position: number) => {
  const lines = text.slice(0, position).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

const encodingFault = (bytes: Uint8Array) => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  try {
    for (let index = 0; index < bytes.length; index++)
      text += decoder.decode(bytes.subarray(index, index + 1), { stream: true })
    decoder.decode()
    return undefined
  } catch {
    return `is not UTF-8 at ${placeOf(text, text.length)}: save it as UTF-8`
  }
}

const parserFault = (text: string) => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** Node's parser names the position of a fault in characters, or only repeats the text around it. An operator needs the line. */
const withLineNumber = (text: string, message: string) => {
  const [, fault, position] = /^(.+?)(?: in JSON at position (\d+).*|, (?:\.{3})?".*)$/s.exec(message) ?? []
  if (fault === undefined) return message
  const lines = text.split('\n')
  // JSON that is cut off before the fault has another fault. So the first lines up to the line of the fault are the fewest that have it.
  const line = position
    ? text.slice(0, Number(position)).split('\n').length
    : 1 + lines.findIndex((_, at) => parserFault(lines.slice(0, at + 1).join('\n'))?.startsWith(fault))
  return `${fault} in line ${line}`
}

const syntaxFault = (text: string) => {
  const message = parserFault(text)
  return message === undefined ? undefined : `is no JSON: ${withLineNumber(text, message)}`
}

const uncleanTextFault = (text: string) =>
  text.includes('\0') ? 'the character \\u0000' : 'half of a character that needs two \\u escapes'

/**
 * Finds what `parseStrictJson` refuses although it is JSON: keys that stand twice, the keys `__proto__` and
 * `constructor`, and texts that cannot be stored.
 */
const findStrictFault = (json: string) => {
  const keysOfOpenObjects: Set<string>[] = []
  for (const { 0: token, 1: colon, index } of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g)) {
    if (token === '{') keysOfOpenObjects.push(new Set())
    else if (token === '}') keysOfOpenObjects.pop()
    else {
      const text: string = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1))
      if (!isCleanText(text)) return `has ${uncleanTextFault(text)} in the text at ${placeOf(json, index)}`
      if (colon === undefined) continue
      const keys = keysOfOpenObjects.at(-1)
      if (keys?.has(text)) return `has the key ${JSON.stringify(text)} a second time at ${placeOf(json, index)}`
      if (text === '__proto__' || text === 'constructor')
        return `has the key "${text}", which is not known, at ${placeOf(json, index)}`
      keys?.add(text)
    }
  }
  return undefined
}

/** A sentence about bytes that `parseStrictJson` refuses: the fault, and its place. */
export const jsonFault = (bytes: Uint8Array) => {
  const text = new TextDecoder().decode(bytes)
  return encodingFault(bytes) ?? syntaxFault(text) ?? findStrictFault(text) ?? 'cannot be read as JSON'
}
