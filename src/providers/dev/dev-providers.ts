import type { ProviderId } from '../../contract/providers.js'
import type { Design } from '../../lib/design.js'
import { startDevGithubProvider } from './github-provider.js'
import { startDevOpenIdProvider } from './openid-provider.js'

type ReplacedProvider = { id: ProviderId; kind: 'openid_connect' | 'github'; name: string; redirectUri: string }

type Settings = {
  publicUrl: string
  /** The design of the service's own pages. */
  design: Design
  /** The providers to replace: their names, and the callback addresses. */
  providers: readonly ReplacedProvider[]
  log: { info(details: object, message: string): void }
}

type ClientCredentials = { clientId: string; clientSecret: string }
type DevProvider = ClientCredentials &
  ({ kind: 'openid_connect'; issuer: string } | { kind: 'github'; url: string; apiUrl: string })

/**
 * Providers on this machine, so that every button works at the very first start. They answer under another host name than
 * the service, which makes them another site for the browser, as real providers are.
 */
export const startDevProviders = async ({ publicUrl, design, providers, log }: Settings) => {
  const hostname = new URL(publicUrl).hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1'
  const start = async ({ id, kind, ...shown }: ReplacedProvider) => {
    const settings = { hostname, design, ...shown }
    if (kind === 'github') return { id, kind, ...(await startDevGithubProvider(settings)) }
    return { id, kind, ...(await startDevOpenIdProvider(settings)) }
  }
  const started = await Promise.all(providers.map(start))
  const addresses = started.map((each) => [each.id, each.kind === 'github' ? each.url : each.issuer])
  log.info(Object.fromEntries(addresses), 'development providers are running')
  const running: Partial<Record<ProviderId, DevProvider>> = Object.fromEntries(
    started.map(({ id, close: _, ...provider }) => [id, provider]),
  )
  const close = async () => {
    await Promise.all(started.map((each) => each.close()))
  }
  return { running, close }
}
