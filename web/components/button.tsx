import type { ComponentChildren } from 'preact'
import { useBusy } from '../hooks/busy.js'

type Look = 'primary' | 'plain' | 'quiet' | 'danger'
type Props = { children: ComponentChildren; look?: Look; label?: string; disabled?: boolean }

/** It is busy until the press is done, or until the page is left: then `onPress` returns `leaving`. */
export const Button = ({ onPress, disabled = false, ...props }: Props & { onPress: () => unknown }) => {
  const { isBusy, run } = useBusy()
  const press = () => {
    if (!disabled) void run(onPress)
  }
  return <ButtonElement {...props} type="button" isBusy={isBusy} disabled={disabled} onClick={press} />
}

/** A form knows whether it is being sent: it can be sent without a press, too. A disabled one leaves it to the form to say why. */
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

/** While busy it keeps its place, its words and the focus, and takes no second press. */
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
