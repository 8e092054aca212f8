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

/** Every word that the password may be a dressed-up form of: as it stands, undecorated, in plain letters, backwards. */
const coresOf = (password: string) => {
  const lower = password.normalize('NFKC').toLowerCase()
  const stems = [lower, unshifted(lower)].flatMap((text) => {
    const untailed = text.replace(/[^\p{L}]+$/u, '')
    return [text, untailed, untailed.replace(/^[^\p{L}]+/u, '')]
  })
  const spelled = stems.flatMap((stem) => [stem, withLetters(stem, 'i'), withLetters(stem, 'l'), onlyLetters(stem)])
  return new Set(spelled.flatMap((core) => [core, reversed(core)]))
}

/** Tells whether a password is one of the given words with no more than a little decoration around it. */
export const createCoreFinder = (words: readonly string[]) => {
  const known = new Set(words.flatMap((word) => [word.toLowerCase(), onlyLetters(word.toLowerCase())]))
  return (password: string) => {
    const least = Math.max(shortestCore, [...password].length - mostDecoration)
    for (const core of coresOf(password)) if ([...core].length >= least && known.has(core)) return true
    return false
  }
}
