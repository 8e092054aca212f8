import type { MailRegistration } from '#contract/mailed-links.js'
import { tabStorage } from '../browser/storage.js'

/** The stage of a sign-in by mail in this tab. */
export type MailStage =
  | { at: 'ask' }
  | { at: 'code'; email: string }
  | { at: 'registration'; registration: Pick<MailRegistration, 'email' | 'username'> }

const key = 'latchkey.mail-login'
const lifetime = 10 * 60 * 1_000

/** Stores the stage, because a phone may load the page again when the user comes back from the mail. */
export const keepMailStage = (stage: MailStage | undefined) =>
  tabStorage.write(
    key,
    stage && stage.at !== 'ask' ? JSON.stringify({ stage, until: Date.now() + lifetime }) : undefined,
  )

export const keptMailStage = (): MailStage | undefined => {
  try {
    const { stage, until } = JSON.parse(tabStorage.read(key) ?? '{}') as { stage?: MailStage; until?: number }
    return until !== undefined && until > Date.now() ? stage : undefined
  } catch {
    return undefined
  }
}
