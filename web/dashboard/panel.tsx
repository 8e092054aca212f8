import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

type Props = {
  title: string
  lead?: string
  /** The fragment of an address that leads here. */
  anchor?: string
  children: ComponentChildren
}

export const Panel = ({ title, lead, anchor, children }: Props) => {
  const id = useId()
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    // The browser looked for the anchor before the panel was rendered.
    if (anchor !== undefined && location.hash === `#${anchor}`) section.current?.scrollIntoView()
  }, [anchor])
  return (
    <section ref={section} id={anchor} class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lead !== undefined && <p class="panel-lead">{lead}</p>}
      {children}
    </section>
  )
}
