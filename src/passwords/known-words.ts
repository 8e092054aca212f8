import type { HashedWords } from './hashed-words.js'

/**
 * The letter that each of these characters is typed for. `l`, `i` and `1` become the same letter, because `1` stands for both letters, and
 * so do `b`, `g` and `6`.
 */
const lookAlikes: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  b: 'g',
  '8': 'g',
  '(': 'c',
  '3': 'e',
  '6': 'g',
  '9': 'g',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
  '+': 't',
  '2': 'z',
  '1': 'i',
  '!': 'i',
  '|': 'i',
  l: 'i',
}

const disguisePattern = new RegExp(`[${Object.keys(lookAlikes).join('')}]`, 'g')

/** The text with plain letters for `ü`, `ñ` and `ç`: attackers try both spellings of a word. */
export const withoutMarks = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ł', 'l')

export const withoutDisguise = (text: string) => text.replace(disguisePattern, (sign) => lookAlikes[sign] ?? sign)

/** The text is reversed by code units, so that an index in it can be converted to one in the reversed text. */
const reversed = (text: string) => text.split('').reverse().join('')

/** How much each replaced letter adds for an attacker, as a power of ten. Replacing every letter is one rule, so the sum has a limit. */
const costOfASubstitution = 0.3
const maxForSubstitutions = 1
const costOfReversing = 0.5

export type Lists = {
  /** Lists with the most common words first. The index in the list is the number of guesses. */
  ranked: readonly (readonly string[])[]
  /** Lists without an order. Every entry takes as many guesses as the list has entries. */
  unordered?: readonly (readonly string[])[]
  /** A long list of which only hashes are known. */
  hashed?: HashedWords | undefined
}

/** Longer words are not looked up in the hashed list. */
const longestHashed = 40

const keepSmallerCost = (words: Map<string, number>, word: string, cost: number) => {
  if (cost < (words.get(word) ?? Number.POSITIVE_INFINITY)) words.set(word, cost)
}

/** The first test is much faster, and decides for nearly every word of the lists. */
const hasOnlyLetters = (text: string) => !/[^a-z]/.test(text) || /^\p{L}*$/u.test(text)

/**
 * How many guesses a word takes, as a power of ten. A word is also found with `@` for `a`, and backwards. All forms of a word are one
 * entry, so that a look-up takes the same time however many letters are replaced.
 */
export const createKnownWords = ({ ranked, unordered = [], hashed }: Lists) => {
  const words = new Map<string, number>()
  // Entries with digits or special characters, such as `abc123`, which is no word with replaced letters.
  const exactEntries = new Map<string, number>()
  let longest = hashed ? longestHashed : 0
  const add = (listed: string, cost: number) => {
    const word = withoutMarks(listed)
    if (word.length < 2) return
    longest = Math.max(longest, word.length)
    keepSmallerCost(words, withoutDisguise(word), cost)
    if (!hasOnlyLetters(word)) keepSmallerCost(exactEntries, word, cost)
  }
  for (const list of ranked) for (const [place, word] of list.entries()) add(word, Math.log10(place + 1))
  for (const list of unordered) for (const word of list) add(word, Math.log10(list.length))

  const notFound = Number.POSITIVE_INFINITY
  const costOfWord = (text: string) => Math.min(words.get(text) ?? notFound, hashed?.word(text) ?? notFound)
  const costOfExact = (text: string) => Math.min(exactEntries.get(text) ?? notFound, hashed?.entry(text) ?? notFound)

  /** Prepares a text once. The result is a function that rates a part of it. */
  const costsIn = (text: string) => {
    const undisguised = withoutDisguise(text)
    const reversedText = reversed(text)
    const undisguisedBackwards = reversed(undisguised)
    // How many special characters and digits are before each index.
    const nonLettersBefore = [0]
    for (const character of text.split(''))
      nonLettersBefore.push((nonLettersBefore.at(-1) ?? 0) + (hasOnlyLetters(character) ? 0 : 1))
    return (start: number, end: number) => {
      const reversedStart = text.length - end
      const reversedEnd = text.length - start
      const substitutions = (nonLettersBefore[end] ?? 0) - (nonLettersBefore[start] ?? 0)
      const word = Math.min(
        costOfWord(undisguised.slice(start, end)),
        costOfWord(undisguisedBackwards.slice(reversedStart, reversedEnd)) + costOfReversing,
      )
      if (substitutions === 0) return word
      return Math.min(
        word + Math.min(substitutions * costOfASubstitution, maxForSubstitutions),
        costOfExact(text.slice(start, end)),
        costOfExact(reversedText.slice(reversedStart, reversedEnd)) + costOfReversing,
      )
    }
  }

  return { longest, costsIn }
}

export type KnownWords = ReturnType<typeof createKnownWords>
