import type { Words } from './words/catalogue.js'

type PasswordWords = Words['password']

const tooWeak = 'Password is too weak.'

/** The rules of the specification (5.4) that a page can tell without asking, in their order. */
export const rules = {
  length: (password: string) => Array.from(password).length >= 8,
  lowercase: (password: string) => /\p{Ll}/u.test(password),
  uppercase: (password: string) => /\p{Lu}/u.test(password),
  digit: (password: string) => /\p{Nd}/u.test(password),
  special: (password: string) => /[^\p{L}\p{M}\p{Nd}]/u.test(password),
} satisfies Record<keyof PasswordWords['rules'], (password: string) => boolean>

/** The service says what is wrong with a password in fixed English sentences; the catalogue has each of them. */
export const translateMessage = (message: string, { messages, feedback }: PasswordWords): string => {
  const known: Record<string, string> = messages
  if (!message.startsWith(tooWeak)) return known[message] ?? message
  const sentences = Object.entries(feedback).reduce(
    (text, [english, translated]) => text.replace(english, translated),
    message.slice(tooWeak.length).trim(),
  )
  return `${messages[tooWeak]} ${sentences}`.trim()
}

export const translateFeedback = (sentence: string, { feedback }: PasswordWords): string => {
  const known: Record<string, string> = feedback
  return known[sentence] ?? sentence
}
