export type UsernameRefusal = 'username_length' | 'username_at_sign' | 'username_characters' | 'username_alphabets'

export const longestUsername = 64

/** Characters that cannot be seen, spaces among them, and halves of surrogate pairs. */
export const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u
const latin = /\p{Script=Latin}/u
const resemblesLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u

/** Spaces around a name come from pasting and are removed. */
export const normalizedUsername = (text: string) => text.normalize('NFKC').trim()

/** What is wrong with a normalized username. The registration page asks this too, before it sends anything. */
export const usernameRefusal = (username: string): UsernameRefusal | undefined => {
  const length = Array.from(username).length
  if (length < 1 || length > longestUsername) return 'username_length'
  if (username.includes('@')) return 'username_at_sign'
  // A combining mark at the start would be drawn on the character before the name.
  if (invisible.test(username) || /^\p{M}/u.test(username)) return 'username_characters'
  if (latin.test(username) && resemblesLatin.test(username)) return 'username_alphabets'
  return undefined
}
