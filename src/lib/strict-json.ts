const decoder = new TextDecoder('utf-8', { fatal: true })

/** Every string, with the colon behind it. In valid JSON a string is followed by a colon exactly if it is a key. */
const stringsWithColon = /"(?:[^"\\]|\\.)*"(\s*:)?/g

const countWrittenKeys = (json: string) =>
  [...json.matchAll(stringsWithColon)].filter(([, colon]) => colon !== undefined).length

export const isCleanText = (value: string) => !value.includes('\0') && value.isWellFormed()

/**
 * Parses JSON, and returns undefined for what is dangerous in it: bytes that are no UTF-8, duplicate keys (parsers differ in which of
 * them counts), the keys `__proto__` and `constructor`, and keys and texts with NUL or lone surrogates, which no database column takes.
 */
export const parseStrictJson = (bytes: Uint8Array): { value: unknown } | undefined => {
  try {
    const text = decoder.decode(bytes)
    const value: unknown = JSON.parse(text)
    let keyCount = 0
    const pending: unknown[] = [value]
    while (pending.length > 0) {
      const next = pending.pop()
      if (typeof next === 'string' && !isCleanText(next)) return undefined
      if (typeof next !== 'object' || next === null) continue
      for (const [key, inner] of Object.entries(next)) {
        if (key === '__proto__' || key === 'constructor' || !isCleanText(key)) return undefined
        pending.push(inner)
      }
      if (!Array.isArray(next)) keyCount += Object.keys(next).length
    }
    return keyCount === countWrittenKeys(text) ? { value } : undefined
  } catch {
    return undefined
  }
}

/** A fault in a file that the operator wrote, as a sentence that names the place. */
export class FaultAtPlace extends Error {
  override name = 'FaultAtPlace'
}

export const faultAt = (sentence: string): never => {
  throw new FaultAtPlace(sentence)
}

export type JsonObject = Readonly<Record<string, unknown>>

export const objectAt = (value: unknown, place: string, keys: readonly string[]): JsonObject => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return faultAt(`${place} is no JSON object`)
  const unknownKey = Object.keys(value).find((key) => !keys.includes(key))
  if (unknownKey !== undefined)
    faultAt(`${place} has the key ${JSON.stringify(unknownKey)}, which is not known. It can have: ${keys.join(', ')}`)
  return value as JsonObject
}

export const listAt = (value: unknown, place: string, max: number): readonly unknown[] => {
  if (!Array.isArray(value) || value.length === 0) return faultAt(`${place} must be a list with at least one entry`)
  return value.length > max ? faultAt(`${place} can have ${max} entries at most`) : value
}

const codeOf = (character: string) => `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`

/** A text of one line without invisible characters, because some of them change how the text around them is shown. */
export const textAt = (value: unknown, place: string, maxLength: number) => {
  if (typeof value !== 'string' || value.trim() === '' || value.length > maxLength)
    return faultAt(`${place} must be a text of 1 to ${maxLength} characters`)
  const { 0: invisible, index = 0 } = /[\p{C}\p{Zl}\p{Zp}]/u.exec(value) ?? {}
  return invisible === undefined
    ? value
    : faultAt(
        `${place} must be one line of characters that can be seen, and its character ${index + 1} is ${codeOf(invisible)}`,
      )
}

export const numberAt = (value: unknown, place: string, min: number, max: number) =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
    ? value
    : faultAt(`${place} must be a whole number from ${min} to ${max}`)
