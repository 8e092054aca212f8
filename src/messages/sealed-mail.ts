import { type Static, Type } from 'typebox'
import { createSealedJson, type Seal } from '../lib/seal.js'

const Content = Type.Object({
  to: Type.String(),
  from: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.String(),
  /** The milliseconds after which the link of the mail has expired and the mail is useless. */
  worthSendingFor: Type.Optional(Type.Number()),
})

/** The content of a waiting mail. It is stored encrypted, because its links can sign a user in. */
export type Content = Static<typeof Content>

export const writeContent = (seal: Seal, content: Content) => createSealedJson(seal, Content).seal(content)

export const readContent = (seal: Seal, sealed: string | null) =>
  sealed === null ? undefined : createSealedJson(seal, Content).open(sealed)
