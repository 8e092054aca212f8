import type { ProviderId } from '../contract/providers.js'
import { startDevGithubProvider } from './github-provider.js'
import { LibraryMissing, startDevOpenIdProvider } from './openid-provider.js'

type Settings = {
  publicUrl: string
  /** The colour of the service's own pages. */
  accent: string
  /** The providers to stand in for: what their buttons say, and where they send the browser back to. */
  wanted: Partial<Record<ProviderId, { name: string; redirectUri: string }>>
  log: { info(details: object, message: string): void; warn(message: string): void }
}

/**
 * Providers on this machine, so that both buttons work at the very first start. They answer under another host name than
 * the service, which makes them another site for the browser, as real providers are.
 */
export const startDevProviders = async ({ publicUrl, accent, wanted, log }: Settings) => {
  const hostname = new URL(publicUrl).hostname === '127.0.0.1' ? 'localhost' : '127.0.0.1'
  const { provider_a, provider_b } = wanted
  const [providerA, providerB] = await Promise.all([
    provider_a && startDevOpenIdProvider({ hostname, accent, ...provider_a }).catch(unlessMissing(log)),
    provider_b && startDevGithubProvider({ hostname, accent, ...provider_b }),
  ])
  log.info({ providerA: providerA?.issuer, providerB: providerB?.url }, 'development providers are running')
  const close = async () => {
    await Promise.all([providerA?.close(), providerB?.close()])
  }
  return { providerA, providerB, close }
}

/** An installation without development dependencies starts all the same, with one button less. */
const unlessMissing = (log: Settings['log']) => (error: unknown) => {
  if (!(error instanceof LibraryMissing)) throw error
  log.warn(error.message)
  return undefined
}
