import { providers } from './provider-table.js'

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
