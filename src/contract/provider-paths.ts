import type { ProviderId } from './providers.js'

/**
 * The word for a provider in addresses. It follows from the id, so that pages and clients need no table: the service may have a
 * provider that was added after they were built.
 */
export const providerPath = (id: ProviderId) => id.replaceAll('_', '-')

/** The path at which a sign-in with this provider begins. */
export const signInPath = (id: ProviderId): `/${string}` => `/api/auth/${providerPath(id)}`

/** The path to which the provider sends the browser back. */
export const callbackPath = (id: ProviderId) => `${signInPath(id)}/callback`
