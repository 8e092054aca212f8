import { useId } from 'preact/hooks'
import { Button } from '../components/button.js'
import { useDisclosure } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'

type QuestionProps = {
  /** The question before the second press, unless the panel has one. */
  question?: string
  questionId: string
  sure: string
  onSure: () => Promise<unknown>
  onCancel: () => void
}

/** The second press, or none. */
export const Question = ({ question, questionId, sure, onSure, onCancel }: QuestionProps) => {
  const { cancel } = useWords('dashboard')
  return (
    <>
      {question !== undefined && (
        <p class="panel-lead" id={questionId}>
          {question}
        </p>
      )}
      <div class="button-row">
        <Button look="danger" onPress={onSure}>
          {sure}
        </Button>
        <Button look="quiet" onPress={onCancel}>
          {cancel}
        </Button>
      </div>
    </>
  )
}

type Props = Omit<QuestionProps, 'onCancel' | 'questionId'> & {
  /** The sentence of the panel that is the question. */
  questionId?: string
  label: string
  /** For a screen reader, where several buttons have the same label. */
  name?: string
  look?: 'plain' | 'quiet'
}

/** A button that says what it does and asks for a second press. */
export const AskFirst = ({ label, name = label, look = 'plain', onSure, ...questionProps }: Props) => {
  const ownId = useId()
  const { questionId = ownId } = questionProps
  const { isOpen, setOpen, containerProps } = useDisclosure({ 'aria-labelledby': questionId })
  const press = async () => {
    await onSure()
    setOpen(false)
  }
  return (
    <div {...containerProps}>
      {isOpen ? (
        <Question {...questionProps} questionId={questionId} onSure={press} onCancel={() => setOpen(false)} />
      ) : (
        <Button look={look} label={name} onPress={() => setOpen(true)}>
          {label}
        </Button>
      )}
    </div>
  )
}
