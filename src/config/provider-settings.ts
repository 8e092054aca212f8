import { callbackPath } from '../contract/provider-paths.js'
import { providers } from '../contract/provider-table.js'
import { type ProviderId, providerIds, providerLabel, providerSetting } from '../contract/providers.js'
import { type Setting, text, webAddress } from './setting-values.js'

type Client = { name: string; clientId?: string; clientSecret?: string; redirectUri?: string }

/** What was set for a provider. Without a client id it is off, or a development provider stands in for it. */
export type ProviderConfig =
  | (Client & { kind: 'openid_connect'; issuer: string })
  | (Client & { kind: 'github'; url: string; apiUrl: string })

export type ProviderConfigs = Readonly<Record<ProviderId, ProviderConfig>>

const addressSettings = (id: ProviderId): Record<string, Setting> => {
  const [provider, label] = [providers[id], providerLabel(id)]
  if (provider.kind === 'openid_connect')
    return {
      ISSUER: {
        read: webAddress,
        fallback: provider.issuer,
        meaning: `OpenID Connect issuer of ${label}. Its endpoints are found by discovery. Production needs \`https\`.`,
      },
    }
  return {
    URL: {
      read: webAddress,
      fallback: provider.url,
      meaning: `Web address of ${label}: GitHub or GitHub Enterprise. Production needs \`https\`.`,
    },
    API_URL: {
      read: webAddress,
      fallback: provider.apiUrl,
      meaning: `REST address of ${label}. Production needs \`https\`.`,
    },
  }
}

const clientSettings = (id: ProviderId): Record<string, Setting> => {
  const label = providerLabel(id)
  return {
    CLIENT_ID: {
      read: text,
      otherwise: 'development provider',
      meaning: `Client id at ${label}. In production, ${label} is off without it.`,
    },
    CLIENT_SECRET: {
      read: text,
      otherwise: 'development provider',
      secret: true,
      meaning: `Client secret at ${label}.`,
    },
    REDIRECT_URI: {
      read: webAddress,
      otherwise: `\`PUBLIC_URL${callbackPath(id)}\``,
      meaning: `Callback address registered at ${label}.`,
    },
    NAME: { read: text, fallback: providers[id].name, meaning: `Name of ${label} on its button.` },
  }
}

/** The settings of every provider in the table, by name. */
export const providerSettings: Readonly<Record<string, Setting>> = Object.fromEntries(
  providerIds.flatMap((id) =>
    Object.entries({ ...addressSettings(id), ...clientSettings(id) }).map(([field, setting]) => [
      providerSetting(id, field),
      setting,
    ]),
  ),
)

/** The settings that name where a provider is. */
export const providerAddresses = providerIds.flatMap((id) =>
  Object.keys(addressSettings(id)).map((field) => providerSetting(id, field)),
)

/** Settings of a provider that make sense only together. */
export const providerPairs = providerIds.map(
  (id) => [providerSetting(id, 'CLIENT_ID'), providerSetting(id, 'CLIENT_SECRET')] as const,
)

/** The values of `providerSettings` by provider. */
export const providerConfigs = (values: Readonly<Record<string, unknown>>) => {
  const configOf = (id: ProviderId): ProviderConfig => {
    const given = (field: string) => values[providerSetting(id, field)] as string | undefined
    const [clientId, clientSecret, redirectUri] = [given('CLIENT_ID'), given('CLIENT_SECRET'), given('REDIRECT_URI')]
    const provider = providers[id]
    const client = {
      name: given('NAME') ?? provider.name,
      ...(clientId !== undefined && { clientId }),
      ...(clientSecret !== undefined && { clientSecret }),
      ...(redirectUri !== undefined && { redirectUri }),
    }
    if (provider.kind === 'openid_connect')
      return { kind: provider.kind, issuer: given('ISSUER') ?? provider.issuer, ...client }
    return {
      kind: provider.kind,
      url: given('URL') ?? provider.url,
      apiUrl: given('API_URL') ?? provider.apiUrl,
      ...client,
    }
  }
  return Object.fromEntries(providerIds.map((id) => [id, configOf(id)])) as ProviderConfigs
}

type Addresses = { publicUrl: string; providers: ProviderConfigs }

/** Where a provider sends the browser back to. */
export const redirectUriOf = ({ publicUrl, providers: configs }: Addresses, id: ProviderId) =>
  configs[id].redirectUri ?? publicUrl + callbackPath(id)
