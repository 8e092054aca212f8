import { byProvider, type ProviderId } from '../contract/providers.js'
import type { Design } from '../lib/design.js'
import type { Log } from '../platform/log.js'
import type { Config } from '../settings/config.js'
import { redirectUrisOf } from '../settings/provider-settings.js'
import type { ProviderSettings } from './providers.js'

type RedirectUris = Readonly<Record<ProviderId, string>>

/** Starts a local provider for each provider without a client id. It does so in development only. */
const openDevProviders = async (config: Config, design: Design, redirectUris: RedirectUris, log: Log) => {
  const withoutClient = byProvider(config.providers).flatMap(([id, { kind, name, clientId }]) => {
    const redirectUri = redirectUris[id]
    return clientId === undefined && redirectUri !== undefined ? [{ id, kind, name, redirectUri }] : []
  })
  if (config.nodeEnv !== 'development' || withoutClient.length === 0) return undefined
  const { startDevProviders } = await import('./dev/dev-providers.js')
  const { publicUrl } = config
  return startDevProviders({ publicUrl, design, providers: withoutClient, log })
}

/** Opens the providers that have a client id. In development a local provider takes the place of each that has none. */
export const openProviders = async (config: Config, design: Design, log: Log) => {
  const { providers, production } = config
  const redirectUris = redirectUrisOf(config)
  const devProviders = await openDevProviders(config, design, redirectUris, log)
  /** The settings of each provider: of the client that was configured, or of the development provider. */
  const settings: ProviderSettings = Object.fromEntries(
    byProvider(providers).flatMap(([id, { clientId, clientSecret = '', ...configured }]) => {
      const sharedSettings = { redirectUri: redirectUris[id] ?? '', production }
      if (clientId !== undefined) return [[id, { ...configured, clientId, clientSecret, ...sharedSettings }]]
      const devProvider = devProviders?.running[id]
      return devProvider ? [[id, { ...devProvider, name: configured.name, ...sharedSettings }]] : []
    }),
  )
  return { settings, redirectUris, close: async () => devProviders?.close() }
}
