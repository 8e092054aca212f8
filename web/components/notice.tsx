import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { focusOn } from '../focus.js'
import { AlertIcon, CheckIcon } from './icons.js'

type Props = {
  kind: 'error' | 'success' | 'info'
  children: ComponentChildren
  after?: ComponentChildren
  /** It stands where the focus was. */
  focused?: boolean
}

/** Says something at once to everybody, also to whoever listens. `after` stands beside it and is not read out. */
export const Notice = ({ kind, children, after, focused = false }: Props) => {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (focused) focusOn(place.current)
  }, [])
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
