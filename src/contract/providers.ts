import { providers } from './provider-table.js'

export type ProviderId = keyof typeof providers

export const providerIds = Object.keys(providers) as ProviderId[]

export const isProviderId = (text: unknown): text is ProviderId => providerIds.some((id) => id === text)

/** What the guides and the commands call it: "provider A". */
export const providerLabel = (id: ProviderId) => providers[id].label

/** The word for it in addresses. */
export const providerPath = (id: ProviderId) => providers[id].path

export const providerByPath = (path: string) => providerIds.find((id) => providerPath(id) === path)

/** Where a sign-in at this provider begins. */
export const signInPath = (id: ProviderId) => `/api/auth/${providerPath(id)}`

/** Where the provider sends the browser back to. */
export const callbackPath = (id: ProviderId) => `${signInPath(id)}/callback`

/** The provider as a linked account. */
export const linkedProviderPath = (id: ProviderId) => `/api/auth/providers/${providerPath(id)}`

/** The name of a setting of this provider: `PROVIDER_A_CLIENT_ID`. */
export const providerSetting = (id: ProviderId, field: string) => `${id.toUpperCase()}_${field}`
