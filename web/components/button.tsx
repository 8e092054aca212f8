import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { isFocusLost, moveFocusTo } from '../hooks/focus.js'
import { useWords } from '../hooks/settings.js'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'
type Props = { children: ComponentChildren; look?: Look; label?: string; disabled?: boolean }

/** The button is busy until `onPress` has ended; if that returns `staysBusy`, until the page is left. */
export const Button = ({ onPress, disabled = false, ...props }: Props & { onPress: () => unknown }) => {
  const { isBusy, run } = useBusy()
  const press = () => {
    if (!disabled) void run(onPress)
  }
  return <ButtonElement {...props} type="button" isBusy={isBusy} disabled={disabled} onClick={press} />
}

/**
 * The form says whether the button is busy, because a form can be sent without a press, too. If the button is disabled, the form says
 * why.
 */
export const SubmitButton = (props: Props & { isBusy: boolean }) => (
  <ButtonElement
    {...props}
    type="submit"
    onClick={(event) => {
      if (props.isBusy) event.preventDefault()
    }}
  />
)

type ElementProps = Props & { type: 'submit' | 'button'; isBusy: boolean; onClick: (event: Event) => void }

/** While busy, the button keeps its place, its words and the focus, and takes no second press. */
const ButtonElement = ({ children, look = 'plain', label, disabled, type, isBusy, onClick }: ElementProps) => (
  <button
    type={type}
    class={`button ${look}`}
    aria-label={label}
    aria-disabled={isBusy || disabled || undefined}
    aria-busy={isBusy || undefined}
    onClick={onClick}
  >
    {isBusy && <span class="spinner" aria-hidden="true" />}
    <span>{children}</span>
  </button>
)

type CopyProps = { text: string; label: string; copiedLabel: string }

/** After a press, the button and a screen reader say that the text was copied. The focus stays on the button. */
export const CopyButton = ({ text, label, copiedLabel }: CopyProps) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    )
  }
  return (
    <>
      <Button onPress={copy}>{isCopied ? copiedLabel : label}</Button>
      <span class="visually-hidden" role="status">
        {isCopied ? copiedLabel : ''}
      </span>
    </>
  )
}

export const TryAgain = ({ onPress }: { onPress: () => Promise<void> }) => {
  const words = useWords('common')
  const press = async () => {
    await onPress()
    // When it worked, the button is gone, and the heading gets the focus.
    requestAnimationFrame(() => isFocusLost() && moveFocusTo(document.querySelector('h1')))
  }
  return <Button onPress={press}>{words.tryAgain}</Button>
}

/** What `onPress` returns if another page or another step follows: the button stays busy until then. */
export const staysBusy = 'stays-busy'

/** Runs one piece of work at a time, and says whether it still runs. */
export const useBusy = () => {
  const [isBusy, setBusy] = useState(false)
  // The state changes with the next render, and a second press may come before that.
  const isRunning = useRef(false)
  const run = async (start: () => unknown) => {
    if (isRunning.current) return
    const work = start()
    if (!(work instanceof Promise)) return
    isRunning.current = true
    setBusy(true)
    if ((await work) === staysBusy) return
    isRunning.current = false
    setBusy(false)
  }
  return { isBusy, run }
}
