import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

type Props = {
  title: string
  lead?: string /** Its name in an address. */
  anchor?: string
  children: ComponentChildren
}

export const Panel = ({ title, lead, anchor, children }: Props) => {
  const id = useId()
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    // The browser looked for it before it was there.
    if (anchor !== undefined && location.hash === `#${anchor}`) section.current?.scrollIntoView()
  }, [])
  return (
    <section ref={section} id={anchor} class="panel" aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {lead !== undefined && <p class="panel-lead">{lead}</p>}
      {children}
    </section>
  )
}
