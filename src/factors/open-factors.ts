import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { Keys } from '../keys/open-keys.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { ConfiguredProviders } from '../providers/open-providers.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { UsersRoom } from '../users/open-users.js'
import { createCeremonies, createPasskeyCeremonies } from './passkey-ceremonies.js'
import { createPasskeys } from './passkeys.js'
import { createCodeLimit, createProveCode } from './prove-code.js'
import { createRecoveryCodes } from './recovery-codes.js'
import { createFactors, createNextSteps, createProofs } from './second-factors.js'
import { createAppReplacements, createPendingSecrets, createTotpSecrets } from './totp.js'
import { createTrustedDevices } from './trusted-devices.js'

export type FactorsRoom = ReturnType<typeof openFactors>

export const openFactors = (
  config: Config,
  platform: Platform,
  keys: Keys,
  below: UsersRoom & SessionsRoom & MessagesRoom & AccountChangesRoom & ConfiguredProviders,
) => {
  const { database, clock, metrics } = platform
  const { productName, publicUrl, trustedDevices } = config
  const deps = { ...platform, ...keys, ...below, productName }
  const pendingSecrets = createPendingSecrets(deps)
  const totpSecrets = createTotpSecrets({ ...deps, pendingSecrets })
  const recoveryCodes = createRecoveryCodes(deps)
  const codeLimit = createCodeLimit(deps)
  const onProof: Parameters<typeof createProveCode>[0]['onProof'] = (method, outcome) =>
    metrics?.countSecondFactor(method, outcome)
  const proveCode = createProveCode({ ...deps, totpSecrets, recoveryCodes, codeLimit, onProof })
  const factors = createFactors({ ...deps, totpSecrets, recoveryCodes, codeLimit, proveCode })
  const { origin, hostname } = new URL(publicUrl)
  const relyingParty = { id: hostname, origin, name: productName }
  const passkeys = createPasskeys({ ...deps, relyingParty })
  const ceremonies = createCeremonies({ seal: keys.sealFor('passkey challenge'), clock })
  const secondFactorRequired = config.secondFactor === 'required'
  return {
    factors,
    appReplacements: createAppReplacements({ ...deps, pendingSecrets, codeLimit }),
    trustedDevices: createTrustedDevices({
      database,
      clock,
      lifetime: trustedDevices === 'off' ? undefined : trustedDevices,
    }),
    passkeys,
    passkeyCeremonies: createPasskeyCeremonies({ ...deps, ceremonies, relyingParty }),
    proofs: createProofs({ ...deps, factors, passkeys }),
    nextSteps: createNextSteps({ ...deps, factors, passkeys, secondFactorRequired }),
  }
}
