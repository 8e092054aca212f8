import type { Language } from '#contract/languages.js'
import type { Refusal } from './answers.js'
import { de } from './words/de.js'
import { en } from './words/en.js'
import { es } from './words/es.js'
import { fill } from './words/fill.js'
import { fr } from './words/fr.js'
import { type RefusalWords, sentenceOf } from './words/refusal-words.js'
import { exactWait } from './words/waits.js'

export type { RefusalWords }
export { de, en, es, fr }

/** The words by the code of the language, for a page with several. Who needs one language imports that one, which is smaller. */
export const refusalWords: Readonly<Record<Language, RefusalWords>> = { de, en, es, fr }

/**
 * A sentence for the user about a refusal: `refusalSentence(answer, de)`. After a limit it says how long to wait, and after a failure of the
 * service it has the beginning of the request's id. The sentences about linked providers need the name of the provider.
 */
export const refusalSentence = (
  refusal: Refusal,
  words: RefusalWords,
  values: { readonly provider?: string } = {},
): string => {
  const { status, retryAfter, freeFrom } = refusal
  const date =
    freeFrom &&
    new Intl.DateTimeFormat(words.language, { dateStyle: 'medium', timeStyle: 'short' }).format(new Date(freeFrom))
  const sentence = sentenceOf(refusal, words, { ...values, ...(date && { date }) })
  return status === 429 && retryAfter
    ? `${sentence} ${fill(words.tryAgainIn, { time: exactWait(retryAfter) })}`
    : sentence
}
