import { isRefused } from '../../contract/outcome.js'
import { type ProviderId, providerSetting } from '../../contract/providers.js'
import { systemClock } from '../../lib/clock.js'
import type { Outbound } from '../../platform/outbound/outbound.js'
import { createOpenIdConnect } from '../../providers/openid-connect.js'
import type { Config } from '../../settings/config.js'
import { type ProviderConfig, redirectUrisOf } from '../../settings/provider-settings.js'
import { type Finding, failure, ok, warning, worstOf } from './check.js'

const findingWithoutClient = ({ nodeEnv }: Config, id: ProviderId) => {
  const setting = providerSetting(id, 'CLIENT_ID')
  return ok(
    nodeEnv === 'development'
      ? `no ${setting}: the development provider stands in`
      : `switched off: ${setting} is not set`,
  )
}

/** A callback on another site gets no cookies of the attempt, so the sign-in cannot be finished there. */
const judgeCallback = (config: Config, id: ProviderId) =>
  new URL(redirectUrisOf(config)[id] ?? config.publicUrl).origin === new URL(config.publicUrl).origin
    ? ok('')
    : warning(`${providerSetting(id, 'REDIRECT_URI')} is not below PUBLIC_URL: sign-in will not find its cookie`)

/** Begins a sign-in, because that needs everything which discovery returns. The sign-in is not continued. */
const checkDiscovery = async (
  id: ProviderId,
  settings: Parameters<typeof createOpenIdConnect>[1],
  outbound: Outbound,
): Promise<Finding> => {
  const provider = createOpenIdConnect(id, settings, { outbound, clock: systemClock })
  const location = await provider.begin({ state: 'doctor', verifier: 'doctor'.repeat(8), nonce: 'doctor' })
  return isRefused(location)
    ? failure(`${settings.issuer} cannot be discovered: ${location.cause}`)
    : ok(`${settings.issuer} publishes what is needed`)
}

/** Accepts every answer below 500: GitHub Enterprise may refuse a request without a sign-in, and only a sign-in proves the client id. */
const checkAnswers = async (urls: readonly string[], outbound: Outbound): Promise<Finding> => {
  const fetch = outbound.withDeadline()
  const ask = async (url: string): Promise<Finding> => {
    const { status } = await fetch(url, { headers: { 'user-agent': 'latchkey' } })
    return status < 500 ? ok('') : failure(`${url} answers ${status}`)
  }
  return worstOf(`${urls.join(' and ')} answer`, await Promise.all(urls.map(ask)))
}

type CheckedProvider = { id: ProviderId; provider: ProviderConfig; config: Config; outbound: Outbound }

export const checkProvider = async ({ id, provider, config, outbound }: CheckedProvider): Promise<Finding> => {
  const { clientId, clientSecret } = provider
  if (clientId === undefined || clientSecret === undefined) return findingWithoutClient(config, id)
  const client = {
    clientId,
    clientSecret,
    redirectUri: redirectUrisOf(config)[id] ?? '',
    production: config.production,
  }
  const reachability =
    provider.kind === 'openid_connect'
      ? await checkDiscovery(id, { ...provider, ...client }, outbound)
      : await checkAnswers([provider.url, provider.apiUrl], outbound)
  return worstOf(reachability.says, [reachability, judgeCallback(config, id)])
}
