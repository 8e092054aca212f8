import {
  type BuiltInProviderId,
  builtInProviderIds,
  byProvider,
  callbackPath,
  type ProviderId,
  providerLabel,
  providerSetting,
  providers,
} from '../contract/providers.js'

import {
  furtherFields,
  furtherProviders,
  furtherProvidersSetting,
  logoSetting,
  nameForButton,
} from './further-providers.js'
import { type Setting, text, webAddress } from './setting-values.js'

type ClientAtProvider = {
  name: string
  logoUrl?: string
  clientId?: string
  clientSecret?: string
  redirectUri?: string
}

/** The settings of a provider. A provider without a client id is off; in development, a local provider takes its place. */
export type ProviderConfig =
  | (ClientAtProvider & { kind: 'openid_connect'; issuer: string; trustEmail?: boolean })
  | (ClientAtProvider & { kind: 'github'; url: string; apiUrl: string })

export type ProviderConfigs = Readonly<Record<ProviderId, ProviderConfig>>

const addressSettings = (id: BuiltInProviderId): Record<string, Setting> => {
  const provider = providers[id]
  const label = providerLabel(id)
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

const clientSettings = (id: BuiltInProviderId): Record<string, Setting> => {
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
    LOGO_URL: logoSetting,
  }
}

const withSettingNames = (id: ProviderId, fields: Readonly<Record<string, Setting>>) =>
  Object.entries(fields).map(([field, setting]) => [providerSetting(id, field), setting] as const)

/** The settings of the built-in providers, and PROVIDERS, which names further ones. */
export const providerSettings: Readonly<Record<string, Setting>> = Object.fromEntries([
  ...builtInProviderIds.flatMap((id) => withSettingNames(id, { ...addressSettings(id), ...clientSettings(id) })),
  ['PROVIDERS', furtherProvidersSetting],
])

/** The settings of the providers that PROVIDERS names. */
export const furtherProviderSettings = (ids: readonly ProviderId[]): Readonly<Record<string, Setting>> =>
  Object.fromEntries(ids.flatMap((id) => withSettingNames(id, furtherFields)))

export const isProviderSetting = (name: string) => name === 'PROVIDERS' || name.startsWith('PROVIDER_')

/** The names of the settings that hold the address of a provider. */
export const providerAddressSettings = (furtherIds: readonly ProviderId[]) => [
  ...builtInProviderIds.flatMap((id) => Object.keys(addressSettings(id)).map((field) => providerSetting(id, field))),
  ...furtherIds.map((id) => providerSetting(id, 'ISSUER')),
]

/** Finds providers that have some of the settings they need, but not all of them. */
export const providerFaults = (values: Readonly<Record<string, unknown>>, absent: ReadonlySet<string>) => {
  const pairs = builtInProviderIds.map(
    (id) => [providerSetting(id, 'CLIENT_ID'), providerSetting(id, 'CLIENT_SECRET')] as const,
  )
  const incompletePairs = pairs.filter(([one, other]) => !values[one] !== !values[other])
  const requiredSettings = furtherProviders(values.PROVIDERS).flatMap((id) =>
    ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET'].map((field) => ({ id, name: providerSetting(id, field) })),
  )
  return [
    ...incompletePairs.map(([one, other]) => `${one} and ${other}: set both or neither`),
    ...requiredSettings
      .filter(({ name }) => absent.has(name))
      .map(({ id, name }) => `${name}: must be set, because PROVIDERS names ${id.replace('provider_', '')}`),
  ]
}

/** The configuration of each provider, in the order of their buttons. */
export const providerConfigs = (values: Readonly<Record<string, unknown>>): ProviderConfigs => {
  const settingValue = (id: ProviderId, field: string) => values[providerSetting(id, field)] as string | undefined
  const clientOf = (id: ProviderId, name: string) => {
    const clientId = settingValue(id, 'CLIENT_ID')
    const clientSecret = settingValue(id, 'CLIENT_SECRET')
    const redirectUri = settingValue(id, 'REDIRECT_URI')
    const logoUrl = settingValue(id, 'LOGO_URL')
    return {
      name: settingValue(id, 'NAME') ?? name,
      ...(logoUrl !== undefined && { logoUrl }),
      ...(clientId !== undefined && { clientId }),
      ...(clientSecret !== undefined && { clientSecret }),
      ...(redirectUri !== undefined && { redirectUri }),
    }
  }
  const builtInConfig = (id: BuiltInProviderId): ProviderConfig => {
    const provider = providers[id]
    const client = clientOf(id, provider.name)
    if (provider.kind === 'openid_connect')
      return { kind: provider.kind, issuer: settingValue(id, 'ISSUER') ?? provider.issuer, ...client }
    const url = settingValue(id, 'URL') ?? provider.url
    const apiUrl = settingValue(id, 'API_URL') ?? provider.apiUrl
    return { kind: provider.kind, url, apiUrl, ...client }
  }
  const furtherConfig = (id: ProviderId): ProviderConfig => ({
    kind: 'openid_connect',
    issuer: settingValue(id, 'ISSUER') ?? '',
    trustEmail: settingValue(id, 'TRUST_EMAIL') === 'true',
    ...clientOf(id, nameForButton(id)),
  })
  return Object.fromEntries([
    ...builtInProviderIds.map((id) => [id, builtInConfig(id)]),
    ...furtherProviders(values.PROVIDERS).map((id) => [id, furtherConfig(id)]),
  ]) as ProviderConfigs
}

/** The redirect URI of each provider. */
export const redirectUrisOf = ({ publicUrl, providers: configs }: { publicUrl: string; providers: ProviderConfigs }) =>
  Object.fromEntries(
    byProvider(configs).map(([id, { redirectUri }]) => [id, redirectUri ?? publicUrl + callbackPath(id)]),
  ) as Record<ProviderId, string>
