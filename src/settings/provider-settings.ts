import { callbackPath } from '../contract/provider-paths.js'
import {
  type BuiltInProviderId,
  builtInProviderIds,
  byProvider,
  type ProviderId,
  providerLabel,
  providerSetting,
  providers,
} from '../contract/providers.js'
import { InvalidValue, list, logoAddress, oneOf, type Read, type Setting, text, webAddress } from './setting-values.js'

const maxProviders = 20

/** The name is part of settings, addresses, columns and stored ids. Names of one letter are left to the built-in providers A and B. */
const namePattern = /^[a-z][a-z0-9]{1,29}$/

const providerName: Read<string> = (value) => {
  if (!namePattern.test(value))
    throw new InvalidValue('must be names of 2 to 30 small letters and digits, such as microsoft, separated by commas')
  return value
}

const providerNames: Read<string[]> = (value) => {
  const names = list(providerName)(value)
  if (new Set(names).size < names.length) throw new InvalidValue('must not have a name twice')
  if (names.length > maxProviders) throw new InvalidValue(`must have at most ${maxProviders} names`)
  return names
}

const furtherProvidersSetting: Setting = {
  read: providerNames,
  fallback: '',
  meaning:
    'Names of further OpenID Connect providers, such as `microsoft,okta`. Each has settings of its own: see “Further providers” in docs/configuration.md. A name is stored with each user who signs in there: do not change it.',
}

/** The ids of the providers that PROVIDERS names. Names that are not allowed are left out. */
export const furtherProviders = (names: unknown): ProviderId[] =>
  (Array.isArray(names) ? names : [])
    .filter((name) => namePattern.test(name))
    .map((name): ProviderId => `provider_${name}`)

/** The text of the button if `PROVIDER_<NAME>_NAME` is not set: the name with a capital. */
const nameForButton = (id: ProviderId) => id.replace(/^provider_(.)/, (_, first: string) => first.toUpperCase())

const logoSetting: Setting = {
  read: logoAddress,
  otherwise: 'the first letter of the name',
  meaning:
    'Logo on its button, square: an address like `PRODUCT_LOGO_URL`. The provider says in its brand rules which file to use; none comes with the service.',
}

/** The settings of each provider that PROVIDERS names. The key is the last part of `PROVIDER_<NAME>_<FIELD>`. */
export const furtherFields: Readonly<Record<string, Setting>> = {
  ISSUER: {
    read: webAddress,
    meaning: 'OpenID Connect issuer. Its endpoints are found by discovery. Production needs `https`. Required.',
  },
  CLIENT_ID: { read: text, meaning: 'Client id at the provider. Required.' },
  CLIENT_SECRET: { read: text, secret: true, meaning: 'Client secret at the provider. Required.' },
  REDIRECT_URI: {
    read: webAddress,
    otherwise: '`PUBLIC_URL/api/auth/provider-<name>/callback`',
    meaning: 'Callback address registered at the provider.',
  },
  NAME: { read: text, otherwise: 'the name with a capital', meaning: 'Name of the provider on its button.' },
  LOGO_URL: logoSetting,
  TRUST_EMAIL: {
    read: oneOf('true', 'false'),
    fallback: 'false',
    meaning:
      '`true`: an email counts as verified if the provider does not say whether it is. Only for an issuer at which you assign the emails yourself: a person who can choose an email there can sign in as the user who has it here.',
  },
}

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
