import * as oidc from 'openid-client'
import type { Clock } from '../../lib/clock.js'
import { hours, seconds } from '../../lib/durations.js'
import type { Fetch } from '../../platform/outbound/outbound.js'

const freshFor = 1 * hours
const failureFor = 5 * seconds

export type DiscoverySettings = { issuer: string; clientId: string; allowLoopbackHttp: boolean }

/**
 * What the provider publishes about itself, asked for when it is first needed: a provider that is down when the service
 * starts must not keep it from starting. A failure is remembered briefly, so that a crowd does not wait for it one by
 * one; once something is known, it serves while a newer copy is fetched behind it.
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
    if (failed && now() - failed.at < failureFor) return Promise.reject(failed.error)
    pending ??= discover(fetch)
    return pending
  }

  return async (fetch: Fetch): Promise<oidc.ServerMetadata> => {
    if (!known) return ask(fetch)
    if (now() - known.at > freshFor) ask(fetch).catch(() => undefined)
    return known.metadata
  }
}

/** A document that nobody could sign in with must not take the place of a good one. */
const isUsable = ({ authorization_endpoint, token_endpoint, jwks_uri }: oidc.ServerMetadata) =>
  [authorization_endpoint, token_endpoint, jwks_uri].every(
    (address) => address !== undefined && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol),
  )
