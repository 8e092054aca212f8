import type { Undos } from '../account-changes/undos.js'
import { createCodeLimit, createProveCode } from '../factors/prove-code.js'
import { createRecoveryCodes } from '../factors/recovery-codes.js'
import { createFactors } from '../factors/second-factors.js'
import { createAppReplacements, createPendingSecrets, createTotpSecrets } from '../factors/totp.js'

import type { Metrics } from '../platform/metrics/metrics.js'

type Dependencies = Parameters<typeof createPendingSecrets>[0] &
  Parameters<typeof createCodeLimit>[0] &
  Omit<Parameters<typeof createProveCode>[0], 'totpSecrets' | 'recoveryCodes' | 'codeLimit' | 'onProof'> & {
    metrics: Metrics | undefined
    undos: Undos
  }

/** Authenticator apps and recovery codes: their secrets, how a code is proven, and how many wrong ones are accepted. */
export const createFactorNouns = (deps: Dependencies) => {
  const { database, metrics, undos } = deps
  const pendingSecrets = createPendingSecrets(deps)
  const totpSecrets = createTotpSecrets({ ...deps, pendingSecrets })
  const recoveryCodes = createRecoveryCodes(deps)
  const codeLimit = createCodeLimit(deps)
  const onProof: Parameters<typeof createProveCode>[0]['onProof'] = (method, outcome) =>
    metrics?.countSecondFactor(method, outcome)
  const proveCode = createProveCode({ ...deps, totpSecrets, recoveryCodes, codeLimit, onProof })
  return {
    factors: createFactors({ database, totpSecrets, recoveryCodes, codeLimit, undos, proveCode }),
    appReplacements: createAppReplacements({ ...deps, pendingSecrets, codeLimit }),
  }
}
