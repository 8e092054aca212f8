import type { PasswordFindings } from '#contract/password-rules.js'
import type { RefusalCode } from '#contract/refusals.js'

import { useWords } from '../hooks/settings.js'
import type { Words } from './catalogue.js'
import { fill } from './format.js'
import { useProblems, useTranslatableProblems } from './refusals.js'

type PasswordWords = Pick<Words['password'], 'rules' | 'strongEnough' | 'missing' | 'errors' | 'feedback'>

/** Sentences by id. An id that this page does not know, from a newer server, is left out. */
const sentencesOf = <Id extends string>(ids: string[], sentences: Record<Id, string>) =>
  ids.filter((id): id is Id => Object.hasOwn(sentences, id)).map((id) => sentences[id])

/** The weaknesses of a password, and then the advice: the catalogue has them in this order. */
export const feedbackOf = ({ feedback }: PasswordFindings, words: PasswordWords) => {
  const order = Object.keys(words.feedback)
  return sentencesOf(
    feedback.toSorted((left, right) => order.indexOf(left) - order.indexOf(right)),
    words.feedback,
  )
}

/**
 * The sentences about a rejected password. If it breaks rules, they name these rules, and the advice below the list of rules says how to
 * make the password stronger. If it breaks none, they say why it is too weak.
 */
export const errorsOf = ({ errors, feedback }: PasswordFindings, words: PasswordWords) => {
  const brokenRules = sentencesOf(errors, { ...words.rules, too_weak: words.strongEnough })
  const breaksRule = errors.some((id) => Object.hasOwn(words.rules, id))
  const others = errors.flatMap((id) => {
    const sentences = sentencesOf([id], words.errors)
    if (id !== 'too_weak') return sentences
    return breaksRule ? [] : [[...sentences, ...feedbackOf({ errors, feedback }, words)].join(' ')]
  })
  return breaksRule ? [fill(words.missing, { rules: brokenRules.join(', ') }), ...others] : others
}

/** `useProblems` for a form with a new password, whose field shows every broken rule. */
export const useNewPasswordProblems = (field: string, fieldOfRefusal: { [Code in RefusalCode]?: string } = {}) => {
  const words = useWords('password')
  const problemsOf = useProblems({ ...fieldOfRefusal, password_rejected: field })
  return useTranslatableProblems((refusal) => {
    const errors = refusal.ids ? errorsOf(refusal.ids, words) : []
    return errors.length > 0 ? { fields: { [field]: errors } } : problemsOf(refusal)
  })
}
