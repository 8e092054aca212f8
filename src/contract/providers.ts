/** The providers that people can sign in with, and the word for each in addresses. */
export const providers = {
  provider_a: { path: 'provider-a' },
  provider_b: { path: 'provider-b' },
} as const satisfies Record<string, { path: string }>

export type ProviderId = keyof typeof providers

export const providerIds = Object.keys(providers) as ProviderId[]

/** Where a sign-in at this provider begins. */
export const signInPath = (id: ProviderId) => `/api/auth/${providers[id].path}`

/** The provider as a linked account. */
export const linkedProviderPath = (id: ProviderId) => `/api/auth/providers/${providers[id].path}`

export const providerByPath = (path: string) => providerIds.find((id) => providers[id].path === path)
