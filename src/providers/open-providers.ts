import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { byProvider, type ProviderId, providerLabel } from '../contract/providers.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Groups } from '../groups/groups.js'
import type { Keys } from '../keys/open-keys.js'
import type { Clock } from '../lib/clock.js'
import type { Design } from '../lib/design.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Log } from '../platform/log.js'
import type { Outbound } from '../platform/outbound/outbound.js'
import type { Platform } from '../platform/platform.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import { redirectUrisOf } from '../settings/provider-settings.js'
import type { UsersRoom } from '../users/open-users.js'
import { createAttempts, createPendingLinks } from './attempts.js'
import type { GitHubSettings } from './github.js'
import { createIdentities } from './identities.js'
import { createIdentityLinks } from './identity-links.js'
import type { OpenIdConnectSettings } from './openid-connect.js'
import type { Provider } from './provider.js'

type SettingsOfOne = ({ kind: 'openid_connect' } & OpenIdConnectSettings) | ({ kind: 'github' } & GitHubSettings)

/** The settings of each provider. A provider without settings is switched off. */
export type ProviderSettings = Readonly<Record<ProviderId, SettingsOfOne>>

export type Providers = Readonly<Record<ProviderId, Provider>>

type Machine = { outbound: Outbound; clock: Clock }

/** Another kind of provider needs a file like these two, and a kind in `contract/providers.ts`. */
const openProvider = async (id: ProviderId, settings: SettingsOfOne, machine: Machine) => {
  if (settings.kind === 'github') {
    const { createGitHub } = await import('./github.js')
    return createGitHub(id, settings, machine)
  }
  const { createOpenIdConnect } = await import('./openid-connect.js')
  return createOpenIdConnect(id, settings, machine)
}

/** Loads the code of the provider, and the library that it uses, for the first sign-in. */
const createProvider = (id: ProviderId, settings: SettingsOfOne, machine: Machine): Provider => {
  let provider: Promise<Provider> | undefined
  const open = () => {
    provider ??= openProvider(id, settings, machine)
    return provider
  }
  return {
    id,
    name: settings.name,
    begin: async (attempt, options) => (await open()).begin(attempt, options),
    finish: async (callback, attempt) => (await open()).finish(callback, attempt),
  }
}

/** The providers, in the order of their settings. */
const createProviders = (settings: ProviderSettings, machine: Machine): Providers =>
  Object.fromEntries(byProvider(settings).map(([id, each]) => [id, createProvider(id, each, machine)]))

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
export const openProviderSettings = async (config: Config, design: Design, log: Log) => {
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

export type ConfiguredProviders = ReturnType<typeof openConfiguredProviders>

/** The providers that are configured, and the accounts that are linked to them. */
export const openConfiguredProviders = ({
  providerSettings,
  outbound,
  database,
  clock,
}: Platform & { providerSettings: ProviderSettings; outbound: Outbound }) => ({
  providers: createProviders(providerSettings, { outbound, clock }),
  identityLinks: createIdentityLinks({ database, clock }),
})

export type ProvidersRoom = ReturnType<typeof openProviders>

type Below = Keys &
  UsersRoom &
  SessionsRoom &
  MessagesRoom & { groups: Groups } & AccountChangesRoom &
  ConfiguredProviders &
  FactorsRoom &
  RegistrationRoom

/** Signing in with a provider, and linking one. */
export const openProviders = (config: Config, platform: Platform, below: Below) => {
  const { clock } = platform
  const providerName = (id: ProviderId) => config.providers[id]?.name ?? providerLabel(id)
  return {
    providerName,
    attempts: createAttempts({ seal: below.sealFor('provider attempt'), clock }),
    pendingLinks: createPendingLinks({ seal: below.sealFor('pending link'), clock }),
    identities: createIdentities({ ...platform, ...below, nameOf: providerName }),
  }
}
