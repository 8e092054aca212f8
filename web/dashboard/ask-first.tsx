import { useId } from 'preact/hooks'
import { Button } from '../components/button.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'

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
