import type { Clock } from '../../lib/clock.js'
import type { Outbound } from '../../platform/outbound/outbound.js'
import type { ProviderId } from '../users/users.js'
import { createGitHub, type GitHubSettings } from './github.js'
import { createOpenIdConnect, type OpenIdConnectSettings } from './openid-connect.js'
import type { Provider } from './provider.js'

export type ProviderSettings = { provider_a: OpenIdConnectSettings; provider_b: GitHubSettings }
export type Providers = Record<ProviderId, Provider>

/** The table of providers. A third is one more file beside these two, one more entry here, and its settings. */
export const createProviders = (
  settings: ProviderSettings,
  parts: { outbound: Outbound; clock: Clock },
): Providers => ({
  provider_a: createOpenIdConnect('provider_a', settings.provider_a, parts),
  provider_b: createGitHub('provider_b', settings.provider_b, parts),
})
