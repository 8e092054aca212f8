import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { isFocusLost, moveFocusTo } from '../browser/focus.js'
import { useFocusAfter } from '../hooks/focus.js'

type Props = {
  title: string
  lead?: string
  /** For what the lead is the name of. */
  leadId?: string
  /** The fragment of an address that leads here. */
  anchor?: string
  /** What the panel shows now. Its title gets the focus if a change of it has removed the focused element. */
  step?: string | undefined
  children: ComponentChildren
}

export const Panel = ({ title, lead, leadId, anchor, step, children }: Props) => {
  const id = useId()
  const section = useRef<HTMLElement>(null)
  const heading = useRef<HTMLHeadingElement>(null)
  useFocusAfter(heading, step)
  useEffect(() => {
    // The browser looked for the anchor before the panel was rendered.
    if (anchor === undefined || location.hash !== `#${anchor}`) return
    // A field in it may have taken the focus already.
    if (isFocusLost()) moveFocusTo(heading.current)
    section.current?.scrollIntoView()
  }, [anchor])
  return (
    <section ref={section} id={anchor} class="panel" aria-labelledby={id}>
      <h2 ref={heading} id={id}>
        {title}
      </h2>
      {lead !== undefined && (
        <p class="panel-lead" id={leadId}>
          {lead}
        </p>
      )}
      {children}
    </section>
  )
}
