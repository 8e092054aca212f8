import type { ComponentChildren } from 'preact'
import { useBusy } from '../hooks/busy.js'

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
