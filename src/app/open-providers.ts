import type { Config } from '../config.js'
import type { ProviderId } from '../contract/providers.js'
import type { ProviderSettings } from '../domain/providers/providers.js'
import type { Log } from '../platform/log.js'

/** Local providers for whatever development was given no client id for. They never run elsewhere. */
const openDevProviders = async (config: Config, redirectUris: Record<ProviderId, string>, log: Log) => {
  if (config.nodeEnv !== 'development') return undefined
  const { startDevProviders } = await import('../dev-providers/dev-providers.js')
  const { providerAClientId, providerBClientId, providerAName, providerBName, publicUrl, accentColor: accent } = config
  const wanted = {
    ...(providerAClientId === undefined && {
      provider_a: { name: providerAName, redirectUri: redirectUris.provider_a },
    }),
    ...(providerBClientId === undefined && {
      provider_b: { name: providerBName, redirectUri: redirectUris.provider_b },
    }),
  }
  return Object.keys(wanted).length > 0 ? startDevProviders({ publicUrl, accent, wanted, log }) : undefined
}

/** Which providers there are: those with a client id, and in development their stand-ins. */
export const openProviders = async (config: Config, log: Log) => {
  const { production, publicUrl } = config
  const redirectUris = {
    provider_a: config.providerARedirectUri ?? `${publicUrl}/api/auth/provider-a/callback`,
    provider_b: config.providerBRedirectUri ?? `${publicUrl}/api/auth/provider-b/callback`,
  }
  const devProviders = await openDevProviders(config, redirectUris, log)
  const a =
    config.providerAClientId !== undefined
      ? {
          issuer: config.providerAIssuer,
          clientId: config.providerAClientId,
          clientSecret: config.providerAClientSecret ?? '',
        }
      : devProviders?.providerA
  const b =
    config.providerBClientId !== undefined
      ? {
          url: config.providerBUrl,
          apiUrl: config.providerBApiUrl,
          clientId: config.providerBClientId,
          clientSecret: config.providerBClientSecret ?? '',
        }
      : devProviders?.providerB
  const settings: ProviderSettings = {
    ...(a && { provider_a: { ...a, name: config.providerAName, redirectUri: redirectUris.provider_a, production } }),
    ...(b && { provider_b: { ...b, name: config.providerBName, redirectUri: redirectUris.provider_b, production } }),
  }
  return { settings, redirectUris, close: async () => devProviders?.close() }
}
