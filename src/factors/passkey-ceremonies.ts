import { createPasskeyAnswers } from './passkey-answers.js'
import { createPasskeyOptions } from './passkey-options.js'

type Dependencies = Parameters<typeof createPasskeyAnswers>[0]

export type PasskeyCeremonies = ReturnType<typeof createPasskeyCeremonies>

/**
 * The question to a browser when it makes or uses a passkey, and the check of its answer. The caller binds a ceremony to a session, or to
 * whatever else stands for the user. These functions know nothing of sessions.
 */
export const createPasskeyCeremonies = (deps: Dependencies) => ({
  ...createPasskeyOptions(deps),
  ...createPasskeyAnswers(deps),
})
