import { type ProviderId, providerIds } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbound } from '../../platform/outbound/outbound.js'
import { createGitHub, type GitHubSettings } from './github.js'
import { createOpenIdConnect, type OpenIdConnectSettings } from './openid-connect.js'
import type { Provider } from './provider.js'

type EachSettings = ({ kind: 'openid_connect' } & OpenIdConnectSettings) | ({ kind: 'github' } & GitHubSettings)

/** A provider without settings is switched off. */
export type ProviderSettings = Partial<Record<ProviderId, EachSettings>>
export type Providers = Partial<Record<ProviderId, Provider>>

type Dependencies = { outbound: Outbound; clock: Clock }

/** Another kind of provider is one more file beside these two, and one more kind in `contract/provider-table.ts`. */
const createProvider = (id: ProviderId, settings: EachSettings, dependencies: Dependencies) =>
  settings.kind === 'github'
    ? createGitHub(id, settings, dependencies)
    : createOpenIdConnect(id, settings, dependencies)

/** In the order of the table. */
export const createProviders = (settings: ProviderSettings, dependencies: Dependencies): Providers =>
  Object.fromEntries(
    providerIds.flatMap((id) => {
      const given = settings[id]
      return given ? [[id, createProvider(id, given, dependencies)]] : []
    }),
  )
