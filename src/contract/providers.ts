import { providerPath } from './provider-paths.js'
import { providers } from './provider-table.js'

export type ProviderId = keyof typeof providers

export const providerIds = Object.keys(providers) as ProviderId[]

export const isProviderId = (text: unknown): text is ProviderId => providerIds.some((id) => id === text)

/** What the guides and the commands call it: "provider A". */
export const providerLabel = (id: ProviderId) => providers[id].label

export const providerByPath = (path: string) => providerIds.find((id) => providerPath(id) === path)

/** The name of a setting of this provider: `PROVIDER_A_CLIENT_ID`. */
export const providerSetting = (id: ProviderId, field: string) => `${id.toUpperCase()}_${field}`
