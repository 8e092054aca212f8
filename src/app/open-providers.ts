import { redirectUriOf } from '../config/provider-settings.js'
import type { Config } from '../config.js'
import { type ProviderId, providerIds } from '../contract/providers.js'
import type { DevProviders } from '../dev-providers/dev-providers.js'
import type { ProviderSettings } from '../domain/providers/providers.js'
import type { Log } from '../platform/log.js'

type RedirectUris = Record<ProviderId, string>

/** In development, a local provider for each provider without a client id. They never run elsewhere. */
const openDevProviders = async (config: Config, redirectUris: RedirectUris, log: Log) => {
  const wanted = providerIds
    .filter((id) => config.providers[id].clientId === undefined)
    .map((id) => ({
      id,
      kind: config.providers[id].kind,
      name: config.providers[id].name,
      redirectUri: redirectUris[id],
    }))
  if (config.nodeEnv !== 'development' || wanted.length === 0) return undefined
  const { startDevProviders } = await import('../dev-providers/dev-providers.js')
  const { publicUrl, accentColor: accent } = config
  return startDevProviders({ publicUrl, accent, wanted, log })
}

/** What a provider is opened with: the client that was configured, or that of the development provider. */
const settingsOf = (
  id: ProviderId,
  { providers, production }: Config,
  redirectUri: string,
  devProviders: DevProviders | undefined,
): ProviderSettings[ProviderId] => {
  const { clientId, clientSecret = '', ...configured } = providers[id]
  if (clientId !== undefined) return { ...configured, clientId, clientSecret, redirectUri, production }
  const running = devProviders?.running[id]
  return running && { ...running, name: configured.name, redirectUri, production }
}

/** The providers that have a client id, and in development the local ones instead of those that have none. */
export const openProviders = async (config: Config, log: Log) => {
  const redirectUris = Object.fromEntries(providerIds.map((id) => [id, redirectUriOf(config, id)])) as RedirectUris
  const devProviders = await openDevProviders(config, redirectUris, log)
  const settings: ProviderSettings = Object.fromEntries(
    providerIds.flatMap((id) => {
      const given = settingsOf(id, config, redirectUris[id], devProviders)
      return given ? [[id, given]] : []
    }),
  )
  return { settings, redirectUris, close: async () => devProviders?.close() }
}
