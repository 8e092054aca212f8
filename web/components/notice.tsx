import type { ComponentChildren } from 'preact'
import { AlertIcon, CheckIcon } from './icons.js'

type Props = { kind: 'error' | 'success' | 'info'; children: ComponentChildren; after?: ComponentChildren }

/** Says something at once to everybody, also to whoever listens. `after` stands beside it and is not read out. */
export const Notice = ({ kind, children, after }: Props) => (
  <div class={`notice ${kind}`}>
    {kind === 'success' ? <CheckIcon /> : <AlertIcon />}
    <div>
      <p role={kind === 'error' ? 'alert' : 'status'}>{children}</p>
      {after}
    </div>
  </div>
)
