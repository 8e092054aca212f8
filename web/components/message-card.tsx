import type { ComponentChildren } from 'preact'
import { Card } from './card.js'
import { Heading } from './heading.js'
import { HelpLink } from './help-link.js'
import { Notice } from './notice.js'
import { WayOut } from './way-out.js'

type Props = {
  heading: string
  kind: 'error' | 'success' | 'info'
  text: string
  /** Whether the heading takes the focus, because the card replaces a form. */
  focused?: boolean
  /** The text tells the user to ask the administrator. */
  hasHelpLink?: boolean
  children?: ComponentChildren
}

/** A page that has nothing but a message, what to do about it, and the way back. */
export const MessageCard = ({ heading, kind, text, focused = false, hasHelpLink = false, children }: Props) => (
  <Card footer={<WayOut />}>
    <Heading text={heading} focused={focused} />
    <Notice kind={kind} after={hasHelpLink && <HelpLink />}>
      {text}
    </Notice>
    {children}
  </Card>
)
