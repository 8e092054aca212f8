type Entry = {
  /** Its name in the guides and in the commands. */
  label: string
  /** The text of its button, unless a setting replaces it. */
  name: string
} & (
  | { kind: 'openid_connect'; issuer: string }
  /** GitHub, or a service with the same OAuth and REST interfaces. */
  | { kind: 'github'; url: string; apiUrl: string }
)

/**
 * The providers that have defaults. Further OpenID Connect providers are named in PROVIDERS and need no entry. The id is stored
 * with each user who signs in there, so it must never change. It says `a` and `b` instead of a company, because settings can replace the
 * URLs and the name here by those of another provider of the same kind.
 */
export const providers = {
  provider_a: {
    kind: 'openid_connect',
    label: 'provider A',
    name: 'Google',
    issuer: 'https://accounts.google.com',
  },
  provider_b: {
    kind: 'github',
    label: 'provider B',
    name: 'GitHub',
    url: 'https://github.com',
    apiUrl: 'https://api.github.com',
  },
} as const satisfies Record<string, Entry>

/** `provider_` and a name. It is stored with each user who signs in there, so it must never change. */
export type ProviderId = `provider_${string}`

export type BuiltInProviderId = keyof typeof providers

/** The providers with built-in defaults. PROVIDERS adds others. */
export const builtInProviderIds = Object.keys(providers) as BuiltInProviderId[]

export const providerIdPattern = '^provider_[a-z0-9]{1,30}$'

const providerIdShape = new RegExp(providerIdPattern)

/** Whether a text has the form of an id. Only the settings say which providers there are. */
export const isProviderId = (text: unknown): text is ProviderId =>
  typeof text === 'string' && providerIdShape.test(text)

const isBuiltIn = (id: ProviderId): id is BuiltInProviderId => builtInProviderIds.some((each) => each === id)

/** The name of a provider in the guides and the commands: "provider A", "provider microsoft". */
export const providerLabel = (id: ProviderId) => (isBuiltIn(id) ? providers[id].label : id.replace('_', ' '))

/** The name of a setting of this provider: `PROVIDER_A_CLIENT_ID`. */
export const providerSetting = (id: ProviderId, field: string) => `${id.toUpperCase()}_${field}`

/** The entries of a table by provider. */
export const byProvider = <Value>(table: Readonly<Record<ProviderId, Value>>) =>
  Object.entries(table) as [ProviderId, Value][]
