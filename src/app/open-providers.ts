import type { Config } from '../config.js'
import { createProviders, type ProviderSettings } from '../domain/providers/providers.js'
import type { ProviderId } from '../domain/users/users.js'
import type { Clock } from '../lib/clock.js'
import type { Log } from '../platform/log.js'
import { createOutbound } from '../platform/outbound/outbound.js'

export type OpenedProviders = Awaited<ReturnType<typeof openProviders>>

/** The providers that are configured and, outside production, demonstrations in place of those that are not. */
export const openProviders = async (config: Config, clock: Clock, log: Log) => {
  const redirectUris = {
    provider_a: config.providerARedirectUri ?? `${config.publicUrl}/api/auth/provider-a/callback`,
    provider_b: config.providerBRedirectUri ?? `${config.publicUrl}/api/auth/provider-b/callback`,
  }
  const names = { provider_a: config.providerAName, provider_b: config.providerBName }
  const configured = configuredProviders(config, names, redirectUris)
  const demonstration = config.production ? undefined : await demonstrate(config, configured, names, redirectUris, log)
  const outbound = createOutbound({ allowLoopbackHttp: !config.production })
  const settings = { ...demonstration?.settings, ...configured }
  return {
    providers: createProviders(settings, { outbound, clock }),
    redirectUris,
    nameOf: (provider: ProviderId) => names[provider],
    close: async () => demonstration?.close(),
  }
}

type Each = Record<ProviderId, string>

const configuredProviders = (config: Config, names: Each, redirectUris: Each): ProviderSettings => {
  const { production, providerAClientId, providerAClientSecret, providerBClientId, providerBClientSecret } = config
  const clientA = providerAClientId &&
    providerAClientSecret && { clientId: providerAClientId, clientSecret: providerAClientSecret }
  const clientB = providerBClientId &&
    providerBClientSecret && { clientId: providerBClientId, clientSecret: providerBClientSecret }
  const base = (id: ProviderId) => ({ name: names[id], redirectUri: redirectUris[id], production })
  return {
    ...(clientA && { provider_a: { ...base('provider_a'), ...clientA, issuer: config.providerAIssuer } }),
    ...(clientB && {
      provider_b: { ...base('provider_b'), ...clientB, url: config.providerBUrl, apiUrl: config.providerBApiUrl },
    }),
  }
}

const demonstrate = async (config: Config, given: ProviderSettings, names: Each, redirectUris: Each, log: Log) => {
  const base = (id: ProviderId) => ({ name: names[id], redirectUri: redirectUris[id] })
  const wanted = {
    ...(!given.provider_a && { provider_a: base('provider_a') }),
    ...(!given.provider_b && { provider_b: base('provider_b') }),
  }
  if (Object.keys(wanted).length === 0) return undefined
  const { startDemonstrationProviders } = await import('../demonstration/demonstration-providers.js')
  const { providerA, providerB, close } = await startDemonstrationProviders({ ...config, wanted, log })
  const settings: ProviderSettings = {
    ...(providerA && { provider_a: { ...base('provider_a'), ...providerA, production: false } }),
    ...(providerB && { provider_b: { ...base('provider_b'), ...providerB, production: false } }),
  }
  return { settings, close }
}
