import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ProviderId } from '../contract/providers.js'
import type { Keys } from '../keys/open-keys.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { Config } from '../settings/config.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import type { UsersRoom } from '../users/open-users.js'
import { createPasskeyCeremonies } from './passkey-ceremonies.js'
import { createPasskeys } from './passkeys.js'
import { createRecoveryCodes } from './recovery-codes.js'
import { createFactors } from './second-factors.js'
import { createTotp } from './totp.js'
import { createTrustedDevices } from './trusted-devices.js'

export type FactorsRoom = ReturnType<typeof openFactors>

type Below = Keys & UsersRoom & MessagesRoom & AccountChangesRoom & { providerIds: readonly ProviderId[] }

/** What proves who somebody is. `providerIds`: the sign-in providers that are configured. */
export const openFactors = (
  config: Config,
  platform: Platform & { liveSettings: LiveSettingsReader },
  below: Below,
) => {
  const { database, clock, metrics } = platform
  const { sealedValues, sealFor, oneTimeTokens, providerIds } = below
  const { productName, publicUrl, trustedDevices } = config
  const { origin, hostname: host } = new URL(publicUrl)
  const relyingParty = { id: host, origin, name: productName }
  const passkeys = createPasskeys({ database, clock, relyingParty, providerIds })
  const services = {
    ...platform,
    ...below,
    host,
    passkeys,
    totp: createTotp({ database, clock, sealedValues, productName }),
    recoveryCodes: createRecoveryCodes({ database, clock, sealedValues }),
    secondFactorRequired: () => platform.liveSettings.now().secondFactor === 'required',
    onProof: metrics?.countSecondFactor ?? (() => undefined),
  }
  const seal = sealFor('passkey challenge')
  const lifetime = trustedDevices === 'off' ? undefined : trustedDevices
  return {
    factors: createFactors(services),
    passkeys,
    passkeyCeremonies: createPasskeyCeremonies({ database, seal, clock, relyingParty, oneTimeTokens }),
    trustedDevices: createTrustedDevices({ database, clock, lifetime }),
  }
}
