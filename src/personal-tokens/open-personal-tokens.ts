import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ProtectedApplications } from '../applications/protected-applications.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { createKnownTokens } from './known-tokens.js'
import { createPersonalTokens } from './personal-tokens.js'

export type PersonalTokensRoom = ReturnType<typeof openPersonalTokens>

export const openPersonalTokens = (
  config: Config,
  platform: Platform,
  below: SessionsRoom & AccountChangesRoom & { protectedApplications: ProtectedApplications },
) => {
  const isOn = config.personalTokens === 'on'
  return {
    personalTokens: createPersonalTokens({ ...platform, ...below, isOn }),
    knownTokens: createKnownTokens({ ...platform, ...below }),
  }
}
