import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { moveFocusTo } from '../browser/focus.js'
import { useWords } from '../hooks/settings.js'
import { Announced } from './announced.js'
import { AlertIcon, CheckIcon, CrossIcon, InfoIcon } from './icons.js'

type Kind = 'error' | 'success' | 'info'
/** An error is announced by the browser, so it may have elements in it. The others go through `Announced`, which takes text only. */
type Message = { kind: 'error'; children: ComponentChildren } | { kind: 'success' | 'info'; children: string }
type Props = Message & {
  after?: ComponentChildren
  /** Whether the notice takes the focus, because the element that had it is gone. */
  focused?: boolean
  onClose?: () => void
}

const icons: Record<Kind, () => ComponentChildren> = {
  error: () => <AlertIcon />,
  success: () => <CheckIcon />,
  info: () => <InfoIcon />,
}

/** A message that a screen reader reads out at once. `after` is shown below it and is not read out. */
export const Notice = ({ kind, children, after, focused = false, onClose }: Props) => {
  const { close } = useWords('common')
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (focused) moveFocusTo(container.current)
  }, [focused])
  return (
    <div ref={container} class={`notice ${kind}`}>
      {icons[kind]()}
      <div>
        {kind === 'error' ? <p role="alert">{children}</p> : <Announced text={children} />}
        {after}
      </div>
      {onClose && (
        <button type="button" class="close-notice" aria-label={close} title={close} onClick={onClose}>
          <CrossIcon />
        </button>
      )}
    </div>
  )
}
