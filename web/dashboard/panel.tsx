import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

type Props = { title: string; lead?: string; children: ComponentChildren }

export const Panel = ({ title, lead, children }: Props) => {
  const id = useId()
  return (
    <section class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lead !== undefined && <p class="panel-lead">{lead}</p>}
      {children}
    </section>
  )
}
