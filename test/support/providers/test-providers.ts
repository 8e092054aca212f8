import { setTimeout as wait } from 'node:timers/promises'
import type { Browser } from '../client.js'
import { type Latchkey, startLatchkey } from '../latchkey.js'
import { createGitHubShaped } from './github.js'
import { createIssuer } from './issuer.js'

export type ProviderName = 'provider-a' | 'provider-b'

/** Both test providers, and the settings that point a service at them. */
export const startProviders = async () => {
  const issuer = await createIssuer()
  const github = await createGitHubShaped()
  return {
    issuer,
    github,
    settings: {
      PROVIDER_A_ISSUER: issuer.issuer,
      PROVIDER_A_CLIENT_ID: issuer.clientId,
      PROVIDER_A_CLIENT_SECRET: issuer.clientSecret,
      PROVIDER_B_URL: github.url,
      PROVIDER_B_API_URL: github.apiUrl,
      PROVIDER_B_CLIENT_ID: github.clientId,
      PROVIDER_B_CLIENT_SECRET: github.clientSecret,
    },
    behaveWell: () => {
      issuer.behave({})
      issuer.become({})
      github.behave({})
      github.become({})
    },
    close: async () => {
      await issuer.close()
      await github.close()
    },
  }
}

/** A service that is pointed at the test providers and ready to answer. */
export const startService = async (
  providers: TestProviders,
  settings: Record<string, string> = {},
  { mailIsOff = false } = {},
) => {
  const service = await startLatchkey({ settings: { ...providers.settings, ...settings }, mailIsOff })
  while ((await service.browser().get('/health')).status !== 200) await wait(20)
  return service
}

export type TestProviders = Awaited<ReturnType<typeof startProviders>>

/** Goes to the provider, which answers at once: the path of the service that the browser is then sent to. */
export const goToProvider = async (browser: Browser, provider: ProviderName, query = '') => {
  const begun = await browser.get(`/api/auth/${provider}${query}`)
  return answerOf(begun.headers.get('location') ?? '')
}

/** The path of the service to which the provider sends the browser back. */
export const answerOf = async (location: string) => {
  if (!/^http:/.test(location)) throw new Error(`The service did not send the browser to a provider but to ${location}`)
  const answer = await fetch(location, { redirect: 'manual' })
  const { pathname, search } = new URL(answer.headers.get('location') ?? '')
  return pathname + search
}

export const comeBack = async (browser: Browser, callback: string) => {
  const answer = await browser.get(callback)
  return { ...answer, location: answer.headers.get('location') }
}

export const signInWith = async (browser: Browser, provider: ProviderName, query = '') =>
  comeBack(browser, await goToProvider(browser, provider, query))

export const sessionCookiesOf = ({ setCookies }: { setCookies: string[] }) =>
  setCookies.filter((cookie) => /^(?:access|refresh)_token=[^;]/.test(cookie))

export const usersOf = (service: Latchkey) =>
  service.sql.query<{
    id: string
    email: string
    username: string
    name: string | null
    provider: string | null
    provider_a_id: string | null
    provider_b_id: string | null
  }>(
    `select id, email, username, name, provider, ${['provider_a', 'provider_b'].map(subjectAt).join(', ')}
     from users order by created_at, id`,
  )

const subjectAt = (provider: string) =>
  `(select subject from identities where user_id = users.id and identities.provider = '${provider}') as ${provider}_id`

export const deleteAllUsers = (service: Latchkey) => service.sql.query('delete from users')
