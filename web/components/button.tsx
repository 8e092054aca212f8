import type { ComponentChildren } from 'preact'

type Props = {
  children: ComponentChildren
  look?: 'primary' | 'plain' | 'quiet' | 'danger'
  type?: 'submit' | 'button'
  busy?: boolean
  disabled?: boolean
  label?: string
  onPress?: () => void | Promise<void>
}

/**
 * While busy it keeps its place, its words and the focus, and takes no second press. A disabled one that submits leaves it
 * to the form to say why.
 */
export const Button = ({
  children,
  look = 'plain',
  type = 'button',
  busy = false,
  disabled = false,
  label,
  onPress,
}: Props) => {
  return (
    <button
      type={type}
      class={`button ${look}`}
      aria-label={label}
      aria-disabled={busy || disabled || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault()
        else if (!disabled) void onPress?.()
      }}
    >
      {busy && <span class="spinner" aria-hidden="true" />}
      <span>{children}</span>
    </button>
  )
}
