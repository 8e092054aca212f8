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
