/** So much around a well-known word does not make it a password of one's own. */
const mostDecoration = 6
const shortestCore = 4

const substitutes: Record<string, string> = {
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
}

const withLetters = (text: string, letterForOne: string) =>
  [...text]
    .map((character) => ('1!|'.includes(character) ? letterForOne : (substitutes[character] ?? character)))
    .join('')

const shifted = '!@#$%^&*()_+{}|:"<>?~'
const plain = "1234567890-=[]\\;',./`"

/** The same keys without the shift key, on the most common keyboard: shows the walk in `1qaz@WSX`. */
export const unshifted = (text: string) =>
  [...text.toLowerCase()].map((character) => plain[shifted.indexOf(character)] ?? character).join('')

const onlyLetters = (text: string) => text.replace(/[^\p{L}]/gu, '')
const reversed = (text: string) => [...text].reverse().join('')

/** As it stands, without what surrounds it, in plain letters for digits and signs, and all of that backwards. */
const readingsOf = (password: string) => {
  const lower = password.normalize('NFKC').toLowerCase()
  const stems = [lower, unshifted(lower)].flatMap((text) => {
    const untailed = text.replace(/[^\p{L}]+$/u, '')
    return [text, untailed, untailed.replace(/^[^\p{L}]+/u, '')]
  })
  const spelled = stems.flatMap((stem) => [stem, withLetters(stem, 'i'), withLetters(stem, 'l'), onlyLetters(stem)])
  return new Set(spelled.flatMap((reading) => [reading, reversed(reading)]))
}

/** `passwordpassword` is `password`. */
const unrepeated = (text: string) => text.replace(/^(.{4,}?)\1+$/su, '$1')

/** Tells whether a password is one of the given words with no more than a little decoration around it. */
export const createCommonFinder = (words: readonly string[]) => {
  const known = new Set(words)
  return (password: string) => {
    const least = Math.max(shortestCore, password.length - mostDecoration)
    const readings = [...readingsOf(password)].filter((reading) => reading.length >= least)
    return readings.some((reading) => known.has(reading) || known.has(unrepeated(reading)))
  }
}

/** Tells whether little is left of a password when these words are taken out of it, wherever and however often they stand. */
export const isMadeOf = (words: readonly string[], password: string) => {
  const longestFirst = words.filter((word) => word.length >= 3).sort((one, other) => other.length - one.length)
  return [...readingsOf(password)].some((reading) => {
    const rest = longestFirst.reduce((text, word) => text.replaceAll(word, ''), reading)
    return rest.length < reading.length && password.length - (reading.length - rest.length) <= mostDecoration
  })
}
