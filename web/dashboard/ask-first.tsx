import { useState } from 'preact/hooks'
import { Button } from '../components/button.js'
import { useDisclosure } from '../focus.js'
import { useWords } from '../settings.js'

type Props = {
  label: string
  /** For a screen reader, where several buttons have the same label. */
  name?: string
  look?: 'plain' | 'quiet'
  /** What the second press does. */
  question: string
  sure: string
  onSure: () => Promise<unknown>
}

/** A button that says what it does and asks for a second press. */
export const AskFirst = ({ label, name = label, look = 'plain', question, sure, onSure }: Props) => {
  const { isOpen, setOpen, containerProps } = useDisclosure(name)
  const { cancel } = useWords('dashboard')
  const [busy, setBusy] = useState(false)
  const press = async () => {
    setBusy(true)
    await onSure()
    setBusy(false)
    setOpen(false)
  }
  return (
    <div {...containerProps}>
      {isOpen ? (
        <>
          <p class="panel-lead">{question}</p>
          <div class="button-row">
            <Button look="danger" busy={busy} onPress={press}>
              {sure}
            </Button>
            <Button look="quiet" onPress={() => setOpen(false)}>
              {cancel}
            </Button>
          </div>
        </>
      ) : (
        <Button look={look} label={name} onPress={() => setOpen(true)}>
          {label}
        </Button>
      )}
    </div>
  )
}
