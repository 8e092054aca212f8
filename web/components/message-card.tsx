import type { ComponentChildren } from 'preact'
import { useWords } from '../hooks/settings.js'
import { Card } from './card.js'
import { Heading } from './heading.js'
import { Notice } from './notice.js'

type Props = {
  heading: string
  kind: 'error' | 'success' | 'info'
  text: string
  /** It replaces a form. */
  focused?: boolean
  children?: ComponentChildren
}

/** A page that has nothing but a message, what to do about it, and the way back to the sign-in. */
export const MessageCard = ({ heading, kind, text, focused = false, children }: Props) => (
  <Card footer={<a href="/login">{useWords('common').backToLogin}</a>}>
    <Heading text={heading} focused={focused} />
    <Notice kind={kind}>{text}</Notice>
    {children}
  </Card>
)
