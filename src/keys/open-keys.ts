import { deriveKey } from '../lib/random.js'
import { createSeal } from '../lib/seal.js'
import type { Platform } from '../platform/platform.js'
import type { Config } from '../settings/config.js'
import { createLoadedKeys } from './loaded-keys.js'
import { sealedColumns } from './sealed-columns.js'
import { createSealedValues } from './sealed-values.js'
import { accessTokenKeys, createSigningKeys, idTokenKeys } from './signing-keys.js'

export type Keys = ReturnType<typeof openKeys>

type Secrets = { secrets: readonly string[]; sealingSecrets: readonly string[] }

/**
 * Keys of each purpose, sealed values and the ring of keys for access tokens. A start loads the ring before the service is ready, so it
 * does not wait for the migrations.
 */
export const openKeys = (config: Config, platform: Platform & Secrets) => {
  const { secrets, sealingSecrets, ungatedDatabase: database, clock, log } = platform
  const keysFor = (purpose: string) => secrets.map((secret) => deriveKey(secret, purpose))
  const sealFor = (purpose: string) => createSeal(keysFor(purpose))
  const sealedValues = createSealedValues(sealingSecrets, sealedColumns)
  const signingKeys = createSigningKeys(accessTokenKeys, { database, clock, sealedValues })
  const signsWithKeyPair = config.accessTokenAlgorithm === 'ES256'
  const loadedKeys = createLoadedKeys({ signingKeys, clock, log, signsWithKeyPair })
  /** They sign ID tokens. */
  const applicationKeys = createSigningKeys(idTokenKeys, { database: platform.database, clock, sealedValues })
  return { keysFor, sealFor, sealedValues, signingKeys, applicationKeys, loadedKeys }
}
