/**
 * A part of a word list of hundreds of thousands of entries, which are stored as short hashes. The list takes 5 bytes for each entry, loads
 * quickly, and contains no password in plain text. `scripts/common-passwords.mjs` makes it from the public lists of leaked passwords.
 */
type Section = {
  /** `word`: letters only, with `@` read as `a`. `entry`: a whole password as it stands in a list, in lower case. */
  kind: 'word' | 'entry'
  /** How many guesses a text of this section takes, as a power of ten. */
  cost: number
  texts: readonly string[]
}

const kinds = ['word', 'entry'] as const satisfies readonly Section['kind'][]
const magic = 0x4c4b5731
const headerSize = 4
const sectionHeaderSize = 12

export const shortestHashed = { word: 5, entry: 8 } as const satisfies Record<Section['kind'], number>

/** FNV-1a over the code units, from two different starts. The hashes are not secret, they only make the list small. */
const fnv = (text: string, basis: number) => {
  let hash = basis
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  // The last bits of FNV are weak, because they depend mostly on the last character.
  hash ^= hash >>> 15
  return Math.imul(hash, 0x2c1b3c6d) >>> 0
}
const keyOf = (text: string) => fnv(text, 0x811c9dc5)
const checkOf = (text: string) => fnv(text, 0x9e3779b9) & 0xff

/**
 * 40 bits are compared, so that of a million random texts about one is mistaken for one of 400,000 words. Key and check are one number
 * while they are sorted, because numbers are sorted faster than pairs.
 */
const hashesOf = (texts: readonly string[]) => {
  const numbers = Float64Array.from(texts, (text) => keyOf(text) * 256 + checkOf(text)).sort()
  const distinct = numbers.filter((number, at) => number !== numbers[at - 1])
  return { keys: distinct.map((number) => Math.floor(number / 256)), checks: distinct.map((number) => number % 256) }
}

export const encodeHashedWords = (sections: readonly Section[]): Uint8Array => {
  const hashedSections = sections.map((section) => ({ ...section, hashes: hashesOf(section.texts) }))
  const size = hashedSections.reduce((sum, { hashes }) => sum + sectionHeaderSize + 5 * hashes.keys.length, headerSize)
  const view = new DataView(new ArrayBuffer(size))
  view.setUint32(0, magic)
  let at = headerSize
  for (const { kind, cost, hashes } of hashedSections) {
    view.setUint32(at, kinds.indexOf(kind))
    view.setFloat32(at + 4, cost)
    view.setUint32(at + 8, hashes.keys.length)
    at += sectionHeaderSize
    for (const key of hashes.keys) {
      view.setUint32(at, key)
      at += 4
    }
    for (const check of hashes.checks) {
      view.setUint8(at, check)
      at += 1
    }
  }
  return new Uint8Array(view.buffer)
}

type LoadedSection = { kind: Section['kind']; cost: number; keys: Uint32Array; checks: Uint8Array }

const load = (bytes: Uint8Array): LoadedSection[] => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (bytes.byteLength < headerSize || view.getUint32(0) !== magic) throw new Error('This is no list of common words')
  const sections: LoadedSection[] = []
  for (let at = headerSize; at < bytes.byteLength; ) {
    const kind = kinds[view.getUint32(at)]
    const count = view.getUint32(at + 8)
    if (kind === undefined) throw new Error('A list of common words has an unknown part')
    const keys = new Uint32Array(count)
    for (let index = 0; index < count; index += 1) keys[index] = view.getUint32(at + sectionHeaderSize + 4 * index)
    const checksAt = at + sectionHeaderSize + 4 * count
    sections.push({ kind, cost: view.getFloat32(at + 4), keys, checks: bytes.slice(checksAt, checksAt + count) })
    at = checksAt + count
  }
  return sections
}

/** Whether one of the entries has the hash of this text. Several entries may have the same key. */
const has = ({ keys, checks }: LoadedSection, text: string) => {
  const key = keyOf(text)
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((keys[middle] ?? 0) < key) low = middle + 1
    else high = middle
  }
  for (let at = low; keys[at] === key; at += 1) if (checks[at] === checkOf(text)) return true
  return false
}

export type HashedWords = ReturnType<typeof createHashedWords>

export const createHashedWords = (bytes: Uint8Array) => {
  const sections = load(bytes)
  /** The cost in the cheapest section that has the text. Infinite if no section has it. */
  const costOf = (kind: Section['kind'], text: string) => {
    if (text.length < shortestHashed[kind]) return Number.POSITIVE_INFINITY
    const costs = sections.filter((section) => section.kind === kind && has(section, text)).map(({ cost }) => cost)
    return Math.min(...costs)
  }
  return {
    word: (text: string) => costOf('word', text),
    entry: (text: string) => costOf('entry', text),
  }
}
