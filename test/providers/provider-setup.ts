import type { Browser } from '../support/client.js'
import {
  answerOf,
  comeBack,
  deleteAllUsers,
  type ProviderName,
  startProviders,
  startService,
  type TestProviders,
} from '../support/providers/test-providers.js'

export const onlyAddress = (email: string, verified = true) => [{ email, primary: true, verified }]

/**
 * A service, its providers, and people who are new in each turn: mails to one address are bounded, and what happened to
 * a person in one test must not answer for another.
 */
export const createProviderSetup = async (settings: Record<string, string> = {}) => {
  const providers = await startProviders()
  const service = await startService(providers, settings)
  let turn = 0
  const nameOf = (name: string) => `${name}${turn}`
  const addressOf = (name: string) => `${name}${turn}@example.com`

  /** Who the OpenID Connect provider says its visitor is. */
  const atIssuer = (change: Parameters<TestProviders['issuer']['become']>[0] = {}) =>
    providers.issuer.become({ email: addressOf('ada'), ...change })

  return {
    service,
    providers,
    nameOf,
    addressOf,
    atIssuer,
    nextTurn: async () => {
      turn += 1
      providers.behaveWell()
      atIssuer()
      providers.github.become({ login: nameOf('ada') }, onlyAddress(addressOf('ada')))
      await deleteAllUsers(service)
    },
    signedUp: (name: string) => service.signedUp(nameOf(name)),
    idOf: async (browser: Browser) => {
      const { user } = (await browser.get('/api/auth/me')).body as { user?: { id: string } }
      return user?.id
    },
    /** Begins on the account page and goes to the provider: the callback path. */
    beginLink: async (browser: Browser, provider: ProviderName) => {
      const { status, body } = await browser.act(`/api/auth/providers/${provider}/link`, {})
      if (status !== 200) throw new Error(`Linking could not begin: ${status}`)
      return answerOf(String(body.location))
    },
    /** Comes back to the account page, which finishes the link: what it is then told. */
    finishLink: async (browser: Browser, callback: string) => {
      const { location } = await comeBack(browser, callback)
      const letter = /^\/dashboard\?linking=provider_([ab])$/.exec(location ?? '')?.[1]
      if (letter === undefined) return location
      const { status, body } = await browser.act(`/api/auth/providers/provider-${letter}/link/finish`, {})
      return status === 204 ? 'linked' : body.code
    },
    close: async () => {
      await service.stop()
      await providers.close()
    },
  }
}

export type ProviderSetup = Awaited<ReturnType<typeof createProviderSetup>>
