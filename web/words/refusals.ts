import type { Refusal } from '#client/client.js'
import { sentenceOf } from '#client/words/refusal-words.js'
import { callbackFailed, type ProviderButton, type PublicReason, providerOfFailure } from '#contract/pages.js'
import type { RefusalCode } from '#contract/refusals.js'
import type { Problems } from '../components/form.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import type { Words } from './catalogue.js'
import { fill } from './format.js'

/**
 * A refusal in the language of the page. A failure of the service has a reference for the support. An answer without a code that this page
 * knows, such as the error page of a proxy, gets a general sentence.
 */
export const refusalSentence = (
  refusal: Refusal,
  { refusals, common: { failures } }: Pick<Words, 'refusals' | 'common'>,
  values?: Record<string, string>,
): string => sentenceOf(refusal, { refusals, failures }, values)

const codesWithHelp: readonly string[] = [
  'too_many_groups',
  'mail_is_off',
  'link_required',
  'registration_closed',
  'invitation_required',
  'invalid_invitation',
  'link_disabled',
] satisfies RefusalCode[]
/** Whether the sentence of this code sends the user to the administrator. Then a link to help belongs below it. */
export const asksForHelp = (code: string) => codesWithHelp.includes(code)

const reasonsWithHelp: readonly string[] = [
  'registration_closed',
  'invitation_required',
  'email_domain_not_allowed',
] satisfies PublicReason[]
/** As `asksForHelp`, for the reason of a failed sign-in with a provider. */
export const reasonAsksForHelp = (reason: string | undefined) =>
  reason !== undefined && reasonsWithHelp.includes(reason)

/** `refusalSentence` with the words of this page. */
export const useRefusalSentence = () => {
  const words = { refusals: useWords('refusals'), common: useWords('common') }
  return (refusal: Refusal, values?: Record<string, string>) => refusalSentence(refusal, words, values)
}

/** Refusals that belong to the field of a new username, in every form that has one. */
export const usernameRefusals = {
  username_length: 'username',
  username_at_sign: 'username',
  username_characters: 'username',
  username_edges: 'username',
  username_alphabets: 'username',
  username_taken: 'username',
}

/**
 * Returns a function that turns a refusal into the problems of a form: at the field that its code belongs to, or above the form.
 * `valuesOf` returns the values for the placeholders in the sentence.
 */
export const useProblems = (
  fieldOfRefusal: { [Code in RefusalCode]?: string } = {},
  valuesOf?: (refusal: Refusal) => Record<string, string>,
) => {
  const sentenceOf = useRefusalSentence()
  return useTranslatableProblems((refusal) => {
    const field = fieldOfRefusal[refusal.refused as RefusalCode]
    const sentence = sentenceOf(refusal, valuesOf?.(refusal))
    return field === undefined
      ? { notice: sentence, retryAfter: refusal.retryAfter, hasHelpLink: asksForHelp(refusal.refused) }
      : { fields: { [field]: [sentence] } }
  })
}

/** Adds `translate`, which gives the same problems in the language that the visitor has chosen since: the newest render has its words. */
export const useTranslatableProblems = (problemsOf: (refusal: Refusal) => Problems) => {
  const newestProblemsOf = useStableCallback(problemsOf)
  return (refusal: Refusal): Problems => ({ ...problemsOf(refusal), translate: () => newestProblemsOf(refusal) })
}

/** The sentence for the error in the address after a failed sign-in with a provider. An unknown error gets a general sentence. */
export const providerErrorFor = (
  error: string,
  reason: string | undefined,
  providers: ProviderButton[],
  { providerErrors }: Words['common'],
): string => {
  if (error === callbackFailed) return providerErrors.callback
  const provider = providerOfFailure(error, providers)
  if (!provider) return providerErrors.unknown
  const { reasons } = providerErrors
  const hasSentence = reason !== undefined && Object.hasOwn(reasons, reason)
  return fill(hasSentence ? reasons[reason as PublicReason] : providerErrors.failed, { provider: provider.name })
}
