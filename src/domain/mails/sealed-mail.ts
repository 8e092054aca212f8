import type { Seal } from '../../lib/seal.js'

/** The content of a waiting mail. It is stored encrypted, because its links can sign a user in. */
export type Content = {
  to: string
  from: string
  subject: string
  text: string
  html: string
  /** Milliseconds after which its link has expired and the mail is useless. */
  worthSendingFor?: number
}

export const writeContent = (seal: Seal, content: Content) => seal.seal(JSON.stringify(content))

/** Only what we sealed can be opened, so an opened text has the shape that we wrote. */
export const readContent = (seal: Seal, sealed: string | null) => {
  const opened = sealed === null ? undefined : seal.open(sealed)
  return opened === undefined ? undefined : (JSON.parse(opened) as Content)
}
