import type { PasswordFindings } from '../src/contract/password-rules.js'
import type { RefusalCode } from '../src/contract/refusals.js'
import type { Problems } from './components/form.js'
import { useProblems } from './refusals.js'
import type { Refusal } from './requests.js'
import { useWords } from './settings.js'
import type { Words } from './words/catalogue.js'

type PasswordWords = Pick<Words['password'], 'errors' | 'feedback'>

/** Sentences by id. A newer server may send an id that this page does not know; it is left out. */
const sentencesOf = <Id extends string>(ids: Id[], sentences: Record<Id, string>) =>
  ids.filter((id) => Object.hasOwn(sentences, id)).map((id) => sentences[id])

export const feedbackOf = ({ feedback }: PasswordFindings, words: PasswordWords) =>
  sentencesOf(feedback, words.feedback)

/** Why a password was rejected. The feedback of the estimate explains why it is too weak. */
export const errorsOf = (findings: PasswordFindings, words: PasswordWords) =>
  findings.errors.flatMap((id) => {
    const sentences = sentencesOf([id], words.errors)
    return id === 'too_weak' ? [[...sentences, ...feedbackOf(findings, words)].join(' ')] : sentences
  })

/** `useProblems` for a form with a new password, whose field shows every broken rule. */
export const useNewPasswordProblems = (field: string, fields: { [Code in RefusalCode]?: string } = {}) => {
  const words = useWords('password')
  const problemsOf = useProblems({ ...fields, password_rejected: field })
  return (refusal: Refusal): Problems => {
    const errors = refusal.findings ? errorsOf(refusal.findings, words) : []
    return errors.length > 0 ? { fields: { [field]: errors } } : problemsOf(refusal)
  }
}
