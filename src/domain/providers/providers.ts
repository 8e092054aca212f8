import type { ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbound } from '../../platform/outbound/outbound.js'
import { createGitHub, type GitHubSettings } from './github.js'
import { createOpenIdConnect, type OpenIdConnectSettings } from './openid-connect.js'
import type { Provider } from './provider.js'

/** A provider without settings is switched off. */
export type ProviderSettings = { provider_a?: OpenIdConnectSettings; provider_b?: GitHubSettings }
export type Providers = Partial<Record<ProviderId, Provider>>

/** The table of providers. A third is one more file beside these two, one more line here, and its settings. */
export const createProviders = (
  { provider_a, provider_b }: ProviderSettings,
  parts: { outbound: Outbound; clock: Clock },
): Providers => ({
  ...(provider_a && { provider_a: createOpenIdConnect('provider_a', provider_a, parts) }),
  ...(provider_b && { provider_b: createGitHub('provider_b', provider_b, parts) }),
})
