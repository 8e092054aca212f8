import { InvalidValue, list, type Read } from './setting-values.js'

const maxWords = 100

const word: Read<string> = (text) => {
  const { length } = Array.from(text)
  if (length < 3 || length > 64) throw new InvalidValue('must be words of 3 to 64 characters, separated by commas')
  return text
}

/** Their number is limited, because each word costs time whenever the strength of a password is estimated. */
export const passwordWords: Read<string[]> = (value) => {
  const words = list(word)(value)
  if (words.length > maxWords) throw new InvalidValue(`must be at most ${maxWords} words`)
  return words
}
