import { datesAt } from './date-patterns.js'
import { walksAt } from './keyboard-walks.js'
import { type KnownWords, withoutMarks } from './known-words.js'

type Kind = 'word' | 'personal' | 'pattern' | 'character'
type FoundPart = { end: number; cost: number }
type Part = { start: number; end: number; kind: Kind }

/** How many guesses a password takes (`cost` is their log10), and which parts it has. */
export type Reading = { cost: number; parts: Part[] }

const shiftedKeys = '!@#$%^&*()_+{}|:"<>?~'
const plainKeys = "1234567890-=[]\\;',./`"

/** The same keys without shift, on the most common keyboard: it finds the listed word `1qaz2wsx` in `1qaz@WSX`. */
const unshifted = (text: string) =>
  text
    .toLowerCase()
    .split('')
    .map((character) => plainKeys[shiftedKeys.indexOf(character)] ?? character)
    .join('')

/** A cost is the log10 of a number of guesses, so costs are added where guesses would be multiplied. */
const costOfAWord = 0.5
const costOfShifting = 0.4
const costOfARepetition = 0.3
const shortestSequence = 3
const shortestDistantRepetition = 3

const characterCosts: readonly (readonly [RegExp, cost: number])[] = [
  [/[!]/, 0.5],
  [/[@#$.*?&_ -]/, 0.8],
  [/[0-9]/, 1],
  [/[\u0021-\u007e]/, 1.4],
]
const costOfACharacter = (character: string) =>
  characterCosts.find(([characters]) => characters.test(character))?.[1] ?? 2

/** The sequences, such as `123` or `cba`, that begin at this index. */
const sequencesAt = (text: string, start: number) => {
  const step = text.charCodeAt(start + 1) - text.charCodeAt(start)
  if (Math.abs(step) !== 1) return []
  let end = start + 2
  while (end < text.length && text.charCodeAt(end) - text.charCodeAt(end - 1) === step) end += 1
  // Most sequences begin at an end of the alphabet or of the digits.
  const startCost = /[01a9z]/.test(text.charAt(start)) ? 0.3 : 1
  return Array.from({ length: Math.max(0, end - start - shortestSequence + 1) }, (_, n) => ({
    end: start + shortestSequence + n,
    cost: startCost + Math.log10(shortestSequence + n),
  }))
}

/** The repetitions at this index: of the text directly before it, or of any earlier text if they are long enough. */
const repetitionsAt = (text: string, start: number) => {
  const before = text.slice(0, start)
  const foundParts: FoundPart[] = []
  for (let end = start + 1; end <= text.length; end += 1) {
    const part = text.slice(start, end)
    if (before.endsWith(part)) foundParts.push({ end, cost: costOfARepetition })
    else if (part.length >= shortestDistantRepetition && !before.includes(part)) break
    else if (part.length >= shortestDistantRepetition) foundParts.push({ end, cost: 2 * costOfARepetition })
  }
  return foundParts
}

const wordFinder = (words: KnownWords, text: string) => {
  const keys = unshifted(text)
  const asTyped = words.costsIn(text)
  const byKeys = keys === text ? undefined : words.costsIn(keys)
  return (start: number) => {
    const foundParts: FoundPart[] = []
    for (let end = start + 2; end <= Math.min(text.length, start + words.longest); end += 1) {
      const shiftedCost = byKeys === undefined ? Number.POSITIVE_INFINITY : byKeys(start, end) + costOfShifting
      const cost = Math.min(asTyped(start, end), shiftedCost)
      if (cost < Number.POSITIVE_INFINITY) foundParts.push({ end, cost: cost + costOfAWord })
    }
    return foundParts
  }
}

/** The cheapest way to build a text from known parts. `best` has for each index the best part that ends there. */
const cheapestReading = (text: string, known: KnownWords, personal: KnownWords): Reading => {
  const finders: [Kind, (start: number) => FoundPart[]][] = [
    ['character', (start) => [{ end: start + 1, cost: costOfACharacter(text.charAt(start)) }]],
    ['personal', wordFinder(personal, text)],
    ['word', wordFinder(known, text)],
    ['pattern', (start) => datesAt(text, start)],
    ['pattern', (start) => sequencesAt(text, start)],
    ['pattern', (start) => walksAt(text, start)],
    ['pattern', (start) => repetitionsAt(text, start)],
  ]
  const best: { cost: number; part: Part | undefined }[] = [{ cost: 0, part: undefined }]
  for (let start = 0; start < text.length; start += 1) {
    for (const [kind, find] of finders) {
      for (const { end, cost } of find(start)) {
        const total = (best[start]?.cost ?? 0) + cost
        if (total < (best[end]?.cost ?? Number.POSITIVE_INFINITY))
          best[end] = { cost: total, part: { start, end, kind } }
      }
    }
  }
  const parts: Part[] = []
  for (let part = best.at(-1)?.part; part !== undefined; part = best[part.start]?.part) parts.unshift(part)
  return { cost: best.at(-1)?.cost ?? 0, parts }
}

/** One special character between all letters, as in `P-a-s-s-w-o-r-d`. */
const spreadOut = /([\p{L}\p{N}])([^\p{L}\p{N}])(?:[\p{L}\p{N}]\2){2,}[\p{L}\p{N}]/gu
const costOfSpreading = 1

/** Base64 of a text, with an ending that makes the password meet the rules. */
const base64Shape = /^([A-Za-z0-9+/]{6,}={0,2})[^A-Za-z0-9]{0,2}$/
const costOfEncoding = 1

/** The plain text of a password that is base64, as `cGFzc3dvcmQ=` is `password`. */
const decodeBase64 = (password: string) => {
  const [, text] = base64Shape.exec(password) ?? []
  const plain = text === undefined ? '' : Buffer.from(text, 'base64').toString('latin1').replace(/\n$/, '')
  return /^[\x20-\x7e]{4,}$/.test(plain) ? plain : undefined
}

/** How an attacker who knows these words would guess a password, with the usual replacements and additions. */
export const readPassword = (password: string, known: KnownWords, personal: KnownWords): Reading => {
  const reading = readPlain(password, known, personal)
  const plain = decodeBase64(password)
  if (plain === undefined) return reading
  const { cost, parts } = readPlain(plain, known, personal)
  return cost + costOfEncoding < reading.cost ? { cost: cost + costOfEncoding, parts } : reading
}

const readPlain = (password: string, known: KnownWords, personal: KnownWords): Reading => {
  const text = withoutMarks(password)
  const reading = cheapestReading(text, known, personal)
  const joined = text.replace(spreadOut, (spread, _first: string, sign: string) => spread.replaceAll(sign, ''))
  if (joined === text) return reading
  const { cost, parts } = cheapestReading(joined, known, personal)
  return cost + costOfSpreading < reading.cost ? { cost: cost + costOfSpreading, parts } : reading
}
