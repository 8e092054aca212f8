import * as oidc from 'openid-client'
import type { Clock } from '../lib/clock.js'
import { hours, seconds } from '../lib/durations.js'
import type { Fetch } from '../platform/outbound/outbound.js'

const documentLifetime = 1 * hours
const failureLifetime = 5 * seconds

export type DiscoverySettings = { issuer: string; clientId: string; allowLoopbackHttp: boolean }

/**
 * The provider's discovery document. It is loaded when it is first needed, so that the service can start while a provider is down. A
 * failure is remembered briefly, so that many requests do not wait for it one after the other. A loaded document is used while a newer one
 * is loaded in the background.
 */
export const createDiscovery = (settings: DiscoverySettings, { clock }: { clock: Clock }) => {
  let lastDocument: { metadata: oidc.ServerMetadata; at: number } | undefined
  let lastFailure: { error: unknown; at: number } | undefined
  let pendingRequest: Promise<oidc.ServerMetadata> | undefined

  const now = () => clock.now().getTime()

  const discover = async (fetch: Fetch) => {
    try {
      const configuration = await oidc.discovery(new URL(settings.issuer), settings.clientId, undefined, undefined, {
        [oidc.customFetch]: fetch,
        execute: settings.allowLoopbackHttp ? [oidc.allowInsecureRequests] : [],
      })
      const metadata = { ...configuration.serverMetadata() }
      if (!isUsable(metadata)) throw new Error('The discovery document lacks an address that a sign-in needs')
      lastDocument = { metadata, at: now() }
      lastFailure = undefined
      return metadata
    } catch (error) {
      lastFailure = { error, at: now() }
      throw error
    } finally {
      pendingRequest = undefined
    }
  }

  const ask = (fetch: Fetch) => {
    if (lastFailure && now() - lastFailure.at < failureLifetime) return Promise.reject(lastFailure.error)
    pendingRequest ??= discover(fetch)
    return pendingRequest
  }

  return async (fetch: Fetch): Promise<oidc.ServerMetadata> => {
    if (!lastDocument) return ask(fetch)
    if (now() - lastDocument.at > documentLifetime) ask(fetch).catch(() => undefined)
    return lastDocument.metadata
  }
}

/** A document that does not work for sign-ins must not replace a good one. */
const isUsable = ({ authorization_endpoint, token_endpoint, jwks_uri }: oidc.ServerMetadata) =>
  [authorization_endpoint, token_endpoint, jwks_uri].every(
    (address) => address !== undefined && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol),
  )
