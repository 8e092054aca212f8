import { byProvider, type ProviderId } from '../contract/providers.js'
import type { Clock } from '../lib/clock.js'
import type { Outbound } from '../platform/outbound/outbound.js'
import type { GitHubSettings } from './github.js'
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
export const createProviders = (settings: ProviderSettings, machine: Machine): Providers =>
  Object.fromEntries(byProvider(settings).map(([id, each]) => [id, createProvider(id, each, machine)]))
