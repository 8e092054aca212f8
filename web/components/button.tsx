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

/** While busy it keeps its place, its words and the focus, and takes no second press. */
export const Button = ({
  children,
  look = 'plain',
  type = 'button',
  busy = false,
  disabled = false,
  label,
  onPress,
}: Props) => {
  const idle = busy || disabled
  return (
    <button
      type={type}
      class={`button ${look}`}
      aria-label={label}
      aria-disabled={idle || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (idle) event.preventDefault()
        else void onPress?.()
      }}
    >
      {busy && <span class="spinner" aria-hidden="true" />}
      <span>{children}</span>
    </button>
  )
}
