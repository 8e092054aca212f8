import type { HashedWords } from './hashed-words.js'

/** Letters and what is typed for them, as one character each. `l`, `i` and `1` are one because `1` stands for both. */
const lookAlikes: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  '8': 'b',
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

const disguised = new RegExp(`[${Object.keys(lookAlikes).join('')}]`, 'g')

export const withoutDisguise = (text: string) => text.replace(disguised, (sign) => lookAlikes[sign] ?? sign)
/** By code units, so that an index in the text can be converted to one in the reversed text. */
const reversed = (text: string) => text.split('').reverse().join('')

/** How much each replacement adds for an attacker, as a power of ten. Replacing every letter is one rule, not many. */
const costOfASubstitution = 0.3
const maxForSubstitutions = 1
const costOfReversing = 0.5

export type Lists = {
  /** The most common first: the index in the list is the number of guesses. */
  ranked: readonly (readonly string[])[]
  /** Not ordered: every entry takes as many guesses as the list has entries. */
  unordered?: readonly (readonly string[])[]
  /** A long list of which only hashes are known. */
  hashed?: HashedWords | undefined
}

/** Longer words of the hashed list are not looked for. */
const longestHashed = 40

const keepSmallerCost = (words: Map<string, number>, word: string, cost: number) => {
  if (cost < (words.get(word) ?? Number.POSITIVE_INFINITY)) words.set(word, cost)
}

/** The first test decides for nearly every word of the lists, and is much faster. */
const hasOnlyLetters = (text: string) => !/[^a-z]/.test(text) || /^\p{L}*$/u.test(text)

/**
 * How many guesses a word takes, as a power of ten, also with `@` for `a` and backwards. All forms of a word are one
 * entry, so that a look-up takes the same time however many letters are replaced.
 */
export const createKnownWords = ({ ranked, unordered = [], hashed }: Lists) => {
  const words = new Map<string, number>()
  // `abc123` itself is not a word with replaced letters.
  const exact = new Map<string, number>()
  let longest = hashed ? longestHashed : 0
  const add = (word: string, cost: number) => {
    if (word.length < 2) return
    longest = Math.max(longest, word.length)
    keepSmallerCost(words, withoutDisguise(word), cost)
    if (!hasOnlyLetters(word)) keepSmallerCost(exact, word, cost)
  }
  for (const list of ranked) for (const [place, word] of list.entries()) add(word, Math.log10(place + 1))
  for (const list of unordered) for (const word of list) add(word, Math.log10(list.length))

  const notFound = Number.POSITIVE_INFINITY
  const costOfWord = (text: string) => Math.min(words.get(text) ?? notFound, hashed?.word(text) ?? notFound)
  const costOfExact = (text: string) => Math.min(exact.get(text) ?? notFound, hashed?.entry(text) ?? notFound)

  /** Prepares a text once, to rate each of its parts. */
  const costsIn = (text: string) => {
    const undisguised = withoutDisguise(text)
    const backwards = reversed(text)
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
        costOfExact(backwards.slice(reversedStart, reversedEnd)) + costOfReversing,
      )
    }
  }

  return { longest, costsIn }
}

export type KnownWords = ReturnType<typeof createKnownWords>
