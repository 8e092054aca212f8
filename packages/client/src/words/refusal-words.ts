import type { Language } from '#contract/languages.js'
import type { RefusalCode } from '#contract/refusals.js'
import type { Refusal } from '../answers.js'
import { fill } from './fill.js'

/** What one language says about refusals. The pages of the service have the same sentences. */
export type RefusalWords = {
  readonly language: Language
  /** Some have the placeholder `{provider}` or `{date}`. */
  readonly refusals: Readonly<Record<RefusalCode, string>>
  /** For an answer without a code that is known here, such as the error page of a proxy. */
  readonly failures: {
    readonly offline: string
    readonly unavailable: string
    readonly unexpected: string
    /** Names the request to the support: `{reference}`. */
    readonly reference: string
  }
  /** After a limit: `{time}`. */
  readonly tryAgainIn: string
}

/** Enough of the id to find the request in the log, and short enough to be read out. */
const shortReference = (requestId: string) => requestId.slice(0, 8)

const plainSentence = (
  { status, refused }: Refusal,
  { refusals, failures }: Pick<RefusalWords, 'refusals' | 'failures'>,
): string => {
  if (Object.hasOwn(refusals, refused)) return refusals[refused as RefusalCode]
  if (status === 0) return failures.offline
  return [502, 503, 504].includes(status) ? failures.unavailable : failures.unexpected
}

/** The sentence of a refusal. After a failure of the service, it has a reference for the support. */
export const sentenceOf = (
  refusal: Refusal,
  words: Pick<RefusalWords, 'refusals' | 'failures'>,
  values: Readonly<Record<string, string>> = {},
): string => {
  const sentence = fill(plainSentence(refusal, words), values)
  const { requestId } = refusal
  if (requestId === undefined) return sentence
  return `${sentence} ${fill(words.failures.reference, { reference: shortReference(requestId) })}`
}
