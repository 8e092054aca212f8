import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { moveFocusTo } from '../focus.js'
import { AlertIcon, CheckIcon } from './icons.js'

type Props = {
  kind: 'error' | 'success' | 'info'
  children: ComponentChildren
  after?: ComponentChildren
  /** It replaces an element that had the focus. */
  focused?: boolean
}

/** A message that a screen reader reads out at once. `after` is shown below it and is not read out. */
export const Notice = ({ kind, children, after, focused = false }: Props) => {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (focused) moveFocusTo(place.current)
  }, [focused])
  return (
    <div ref={place} class={`notice ${kind}`}>
      {kind === 'success' ? <CheckIcon /> : <AlertIcon />}
      <div>
        <p role={kind === 'error' ? 'alert' : 'status'}>{children}</p>
        {after}
      </div>
    </div>
  )
}
