import type { ComponentChildren } from 'preact'
import type { Answer, Refusal } from '#client/client.js'
import { longestReason } from '#contract/admin/admin-api.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { Field } from '../components/field.js'
import { type FieldProblems, Form, type Problems, type Values } from '../components/form.js'
import { useFieldProblems } from '../components/profile-fields.js'
import { isFocusLost, moveFocusTo } from '../hooks/focus.js'
import { useSettings, useWords } from '../hooks/settings.js'
import type { Words } from '../words/catalogue.js'
import { fill } from '../words/format.js'
import { useProblems } from '../words/refusals.js'
import { useAdmin } from './screen.js'

export type ChangeProps = {
  title: string
  /** The sentence about what happens. */
  lead: string
  /** The sentence about what the user is told. */
  userNotice: string
  submitLabel: string
  look?: 'primary' | 'danger'
  check?: (values: Values, invalid: FieldProblems) => Promise<FieldProblems>
  call: (values: Values) => Promise<Answer<unknown>>
  /** What the form says of a refusal, if it is not the usual sentence. */
  noticeOf?: (refusal: Refusal) => string | undefined
  /** The message after the change has worked. */
  successMessage: (values: Values) => string
  /** Loads what has changed. */
  onDone: () => Promise<unknown> | undefined
  onClose: () => void
  /** The fields that the change needs. */
  children?: ComponentChildren
}

const fieldOfRefusal = {
  reason_required: 'reason',
  email_shape: 'email',
  email_domain_not_allowed: 'email',
  has_account: 'email',
} as const

/**
 * A dialog for one change, with its explanation, its fields and its button. If a fresh sign-in is needed, `withFreshSignIn` opens
 * another dialog.
 */
export const ChangeDialog = ({ title, submitLabel, look = 'primary', children, ...change }: ChangeProps) => {
  const words = useWords('admin')
  const { mailIsOff } = useSettings()
  const { showSuccess, withFreshSignIn, leaveIfEnded } = useAdmin()
  const problemsOf = useChangeProblems()
  return (
    <Dialog
      title={title}
      lead={
        <>
          <p>{change.lead}</p>
          <p class="panel-lead">{mailIsOff ? words.notTold : change.userNotice}</p>
        </>
      }
      onCancel={change.onClose}
    >
      {(close) => {
        const closeDialog = () => {
          close()
          change.onClose()
        }
        const send = async (values: Values): Promise<Problems | undefined> => {
          const answer = await withFreshSignIn(() => change.call(values))
          // The user has closed the dialog that asked for a proof.
          if (answer.refused === 'fresh_sign_in_required') return {}
          if (answer.refused) {
            const notice = change.noticeOf?.(answer)
            if (notice !== undefined) return { notice }
            return (await leaveIfEnded(answer)) ? undefined : problemsOf(answer)
          }
          closeDialog()
          showSuccess(change.successMessage(values))
          await change.onDone()
          focusHeadingIfLost()
          return undefined
        }
        return (
          <>
            <Form submitLabel={submitLabel} look={look} onSubmit={send} {...(change.check && { check: change.check })}>
              {children}
            </Form>
            <Button look="quiet" onPress={closeDialog}>
              {words.cancel}
            </Button>
          </>
        )
      }}
    </Dialog>
  )
}

/** The change may have removed the button that opened the dialog. Then the heading gets the focus. */
const focusHeadingIfLost = () =>
  requestAnimationFrame(() => {
    if (isFocusLost()) moveFocusTo(document.querySelector('h1'))
  })

/** The usual sentences address the user whom they are about. Here the reader is an administrator, so two refusals have other words, and one does not hold up the form. */
export const useChangeProblems = () => {
  const words = useWords('admin')
  const { faults } = useWords('configuration')
  const problemsOf = useProblems(fieldOfRefusal)
  const fieldProblems = useFieldProblems()
  return (refusal: Refusal): Problems => {
    if (refusal.refused === 'other_username') return { fields: { username: [words.otherUsername] } }
    if (refusal.refused === 'invalid_configuration') {
      const sentence = sentenceOfFault(refusal, faults)
      const { fault = '' }: { fault?: string; value?: string | undefined } = refusal
      return fault === 'bad_icon' ? { fields: { icon: [sentence] } } : { notice: sentence }
    }
    if (refusal.refused === 'too_many_groups') return { notice: words.tooManyGroups }
    // The wait is for one address. The form must not wait for hours: the administrator may have mistyped it.
    if (refusal.refused === 'too_many_mails') return { ...problemsOf(refusal), retryAfter: undefined }
    return fieldProblems(refusal) ?? problemsOf(refusal)
  }
}

/** Why a value cannot be, with the value. A fault that only a newer service knows is said in English. */
const sentenceOfFault = (refusal: Refusal, words: Words['configuration']['faults']) => {
  const { fault = '', value = '' }: { fault?: string; value?: string | undefined } = refusal
  return Object.hasOwn(words, fault) ? fill(words[fault as keyof typeof words], { value }) : (refusal.message ?? fault)
}

/** `focused` is false if the field appears after another choice in the dialog, which keeps the focus. */
export const ReasonField = ({ focused = true }: { focused?: boolean }) => {
  const words = useWords('admin')
  return (
    <Field
      name="reason"
      label={words.reason}
      hint={words.reasonHint}
      maxLength={longestReason}
      autoComplete="off"
      focused={focused}
    />
  )
}
