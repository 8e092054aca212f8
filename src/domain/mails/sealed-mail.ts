import type { Seal } from '../../lib/seal.js'

/** What waits in the outbox, sealed: the links in it sign people in. */
export type Content = {
  to: string
  from: string
  subject: string
  text: string
  html: string
  /** Milliseconds after which its link is dead and the mail would only confuse. */
  worthSendingFor?: number
}

export const writeContent = (seal: Seal, content: Content) => seal.seal(JSON.stringify(content))

/** Nothing opens but what we sealed ourselves, so an opened text has the shape that was written. */
export const readContent = (seal: Seal, sealed: string | null) => {
  const opened = sealed === null ? undefined : seal.open(sealed)
  return opened === undefined ? undefined : (JSON.parse(opened) as Content)
}
