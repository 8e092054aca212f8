import type { PasswordFindings } from '#contract/password-rules.js'
import type { RefusalCode } from '#contract/refusals.js'
import { useWords } from '../hooks/settings.js'
import type { Words } from './catalogue.js'
import { fill } from './format.js'
import { useProblems, useTranslatableProblems } from './refusals.js'

type PasswordWords = Pick<Words['password'], 'rules' | 'strongEnough' | 'missing' | 'errors' | 'feedback'>

/** Sentences by id. A newer server may send an id that this page does not know; it is left out. */
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
 * The reasons why a password was rejected: what it lacks, in the words of the list of rules. How to make it stronger is said below the
 * list; a password that breaks no rule is too weak for a reason that stands here.
 */
export const errorsOf = ({ errors, feedback }: PasswordFindings, words: PasswordWords) => {
  const lacking = sentencesOf(errors, { ...words.rules, too_weak: words.strongEnough })
  const breaksRule = errors.some((id) => Object.hasOwn(words.rules, id))
  const others = errors.flatMap((id) => {
    const sentences = sentencesOf([id], words.errors)
    if (id !== 'too_weak') return sentences
    return breaksRule ? [] : [[...sentences, ...feedbackOf({ errors, feedback }, words)].join(' ')]
  })
  return breaksRule ? [fill(words.missing, { rules: lacking.join(', ') }), ...others] : others
}

/** `useProblems` for a form with a new password, whose field shows every broken rule. */
export const useNewPasswordProblems = (field: string, fields: { [Code in RefusalCode]?: string } = {}) => {
  const words = useWords('password')
  const problemsOf = useProblems({ ...fields, password_rejected: field })
  return useTranslatableProblems((refusal) => {
    const errors = refusal.ids ? errorsOf(refusal.ids, words) : []
    return errors.length > 0 ? { fields: { [field]: errors } } : problemsOf(refusal)
  })
}
