import * as oidc from 'openid-client'
import type { Clock } from '../../lib/clock.js'
import { hours, seconds } from '../../lib/durations.js'
import type { Fetch } from '../../platform/outbound/outbound.js'

const documentLifetime = 1 * hours
const failureLifetime = 5 * seconds

export type DiscoverySettings = { issuer: string; clientId: string; allowLoopbackHttp: boolean }

/**
 * The provider's discovery document, loaded when it is first needed, so that the service starts while a provider is down. A
 * failure is remembered briefly, so that many requests do not wait for it one after the other. A known document is used
 * while a newer one is loaded in the background.
 */
export const createDiscovery = (settings: DiscoverySettings, { clock }: { clock: Clock }) => {
  let known: { metadata: oidc.ServerMetadata; at: number } | undefined
  let failed: { error: unknown; at: number } | undefined
  let pending: Promise<oidc.ServerMetadata> | undefined

  const now = () => clock.now().getTime()

  const discover = async (fetch: Fetch) => {
    try {
      const found = await oidc.discovery(new URL(settings.issuer), settings.clientId, undefined, undefined, {
        [oidc.customFetch]: fetch,
        execute: settings.allowLoopbackHttp ? [oidc.allowInsecureRequests] : [],
      })
      const metadata = { ...found.serverMetadata() }
      if (!isUsable(metadata)) throw new Error('The discovery document lacks an address that a sign-in needs')
      known = { metadata, at: now() }
      failed = undefined
      return known.metadata
    } catch (error) {
      failed = { error, at: now() }
      throw error
    } finally {
      pending = undefined
    }
  }

  const ask = (fetch: Fetch) => {
    if (failed && now() - failed.at < failureLifetime) return Promise.reject(failed.error)
    pending ??= discover(fetch)
    return pending
  }

  return async (fetch: Fetch): Promise<oidc.ServerMetadata> => {
    if (!known) return ask(fetch)
    if (now() - known.at > documentLifetime) ask(fetch).catch(() => undefined)
    return known.metadata
  }
}

/** A document that does not work for sign-ins must not replace a good one. */
const isUsable = ({ authorization_endpoint, token_endpoint, jwks_uri }: oidc.ServerMetadata) =>
  [authorization_endpoint, token_endpoint, jwks_uri].every(
    (address) => address !== undefined && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol),
  )
