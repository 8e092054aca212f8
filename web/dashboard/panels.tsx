import { type ComponentChildren, createContext } from 'preact'
import { useContext, useId, useLayoutEffect, useState } from 'preact/hooks'
import { isTemporary, type Refusal } from '#client/client.js'
import type { Account } from '#contract/schemas.js'
import { keepUnsaved, takeUnsaved } from '../browser/storage.js'
import { Button, TryAgain } from '../components/button.js'
import { type Problems, valuesOf } from '../components/form.js'
import { Notice } from '../components/notice.js'
import { SignOutButton } from '../components/sign-out.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'
import { useStableCallback } from '../hooks/stable.js'
import type { WithFreshSignIn } from '../sign-in/step-up.js'
import { useRefusalSentence } from '../words/refusals.js'
import { AccountPanel, type PanelName } from './sections.js'

/**
 * The functions of the page for its panels: to show that something worked or was refused, to load everything again, and to ask for a
 * proof.
 */
export type DashboardActions = {
  showSuccess: (text: string) => void
  /** `values` are for the placeholders in the sentence. */
  showRefusal: (refusal: Refusal, values?: Record<string, string>) => void
  reload: () => Promise<void>
  /** Makes a call that needs a fresh sign-in. */
  withFreshSignIn: WithFreshSignIn
}

export const DashboardActionsContext = createContext<DashboardActions | undefined>(undefined)

export const useDashboardActions = () => {
  const actions = useContext(DashboardActionsContext)
  if (!actions) throw new Error('A panel was used outside of the dashboard')
  return actions
}

/** Returns a function that gives the problems of a form whose call was refused. Without a session, another page follows. */
export const useFormProblems = (problemsOf: (refusal: Refusal) => Problems) => {
  const { showRefusal } = useDashboardActions()
  return (refusal: Refusal): Problems | undefined => {
    // The user has closed the dialog that asked for a proof.
    if (refusal.refused === 'fresh_sign_in_required') return {}
    if (refusal.refused !== 'not_authenticated') return problemsOf(refusal)
    showRefusal(refusal)
    return undefined
  }
}

/** Shown if the whole account could not be loaded: why, and what the user can do meanwhile. */
export const NotLoaded = ({ refusal, onTryAgain }: { refusal: Refusal; onTryAgain: () => Promise<void> }) => {
  const words = useWords('dashboard')
  const sentenceOf = useRefusalSentence()
  const sentence = isTemporary(refusal) ? words.reconnecting : sentenceOf(refusal)
  return (
    <section class="panel not-loaded">
      <h1>{words.title}</h1>
      <Notice kind="error">{sentence}</Notice>
      <div class="button-row">
        <TryAgain onPress={onTryAgain} />
        <SignOutButton />
      </div>
    </section>
  )
}

type LoadedProps<Part> = {
  part: Part | undefined
  place: PanelName
  title: string
  children: (part: Part) => ComponentChildren
}

/** A panel. If its part of the account could not be loaded, while others could, its title and a notice stand in its place. */
export const Loaded = <Part,>({ part, children, ...panel }: LoadedProps<Part>) => {
  const { partNotLoaded } = useWords('dashboard')
  const { reload } = useDashboardActions()
  if (part !== undefined) return <>{children(part)}</>
  return (
    <AccountPanel {...panel}>
      <Notice kind="error">{partNotLoaded}</Notice>
      <TryAgain onPress={reload} />
    </AccountPanel>
  )
}

type QuestionProps = {
  /** The question before the second press, unless the panel already shows one. */
  question?: string
  questionId: string
  confirmLabel: string
  onConfirm: () => Promise<unknown>
  onCancel: () => void
}

/** Asks for a second press, or lets the user cancel. */
export const Question = ({ question, questionId, confirmLabel, onConfirm, onCancel }: QuestionProps) => {
  const { cancel } = useWords('dashboard')
  return (
    <>
      {question !== undefined && (
        <p class="panel-lead" id={questionId}>
          {question}
        </p>
      )}
      <div class="button-row">
        <Button look="danger" onPress={onConfirm}>
          {confirmLabel}
        </Button>
        <Button look="quiet" onPress={onCancel}>
          {cancel}
        </Button>
      </div>
    </>
  )
}

type Props = Omit<QuestionProps, 'onCancel' | 'questionId'> & {
  /** The id of the sentence of the panel, if that is the question. */
  questionId?: string
  label: string
  /** The name for a screen reader, where several buttons have the same label. */
  name?: string
  look?: 'plain' | 'quiet'
}

/** A button that says what it does and asks for a second press. */
export const AskFirst = ({ label, name = label, look = 'plain', onConfirm, ...questionProps }: Props) => {
  const ownId = useId()
  const { questionId = ownId } = questionProps
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-labelledby': questionId })
  const press = async () => {
    await onConfirm()
    setOpen(false)
  }
  return (
    <div {...containerProps}>
      {isOpen ? (
        <Question {...questionProps} questionId={questionId} onConfirm={press} onCancel={() => setOpen(false)} />
      ) : (
        <Button look={look} label={name} onPress={() => setOpen(true)}>
          {label}
        </Button>
      )}
    </div>
  )
}

/** The panels whose form is kept. None of them has a password or a code. */
type KeptPanel = Extract<PanelName, 'names' | 'email' | 'language' | 'details'>

/**
 * A form behind a button. When the session ends while the form is open, this tab keeps what was typed, and fills it in after the next
 * sign-in of the same user.
 */
export const useKeptForm = (place: KeptPanel, account: Account, label: string) => {
  const [typed] = useState(() => takeUnsaved(account.id, place))
  const disclosure = useDisclosure({ 'aria-label': label }, () => typed !== undefined)
  const { ref } = disclosure.containerProps
  const restore = useStableCallback(() => {
    const form = ref.current?.querySelector('form')
    if (form && typed) fillIn(form, typed)
  })
  const keep = useStableCallback(() => {
    const form = ref.current?.querySelector('form')
    if (form) keepUnsaved(account.id, place, valuesOf(form))
  })
  // A layout effect, because the clean-up of other effects comes when the form is already gone.
  useLayoutEffect(() => {
    restore()
    return keep
  }, [])
  return disclosure
}

const fillIn = (form: HTMLFormElement, typed: Record<string, string>) => {
  for (const input of form.elements) {
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement)) continue
    if (input instanceof HTMLInputElement && input.type === 'checkbox') input.checked = typed[input.name] !== undefined
    else input.value = typed[input.name] ?? input.value
  }
}
