import { useWords } from '../hooks/settings.js'
import { Card } from './card.js'
import { Heading } from './heading.js'
import { Notice } from './notice.js'

type Props = { heading: string; kind: 'error' | 'success' | 'info'; text: string; focused?: boolean }

/** A page that has nothing but a message, and the way back to the sign-in. `focused`: it replaces a form. */
export const MessageCard = ({ heading, kind, text, focused = false }: Props) => (
  <Card footer={<a href="/login">{useWords('common').backToLogin}</a>}>
    <Heading text={heading} focused={focused} />
    <Notice kind={kind}>{text}</Notice>
  </Card>
)
