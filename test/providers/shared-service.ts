import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Latchkey } from '../support/latchkey.js'
import {
  deleteAllUsers,
  type ProviderName,
  sessionCookiesOf,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from '../support/providers/test-providers.js'

export const providerNames: ProviderName[] = ['provider-a', 'provider-b']
export const failedSignInPath = (provider: ProviderName) => `/login?error=${provider.replace('-', '_')}_auth_failed`

/**
 * Starts both providers and one service for the tests of a file. Before each test the providers behave well again, and all
 * users are deleted. The result is filled before the first test: read it inside of tests only.
 */
export const useProviders = () => {
  const shared = {} as { providers: TestProviders; service: Latchkey }
  beforeAll(async () => {
    shared.providers = await startProviders()
    shared.service = await startService(shared.providers)
  })
  afterAll(async () => {
    await shared.service.stop()
    await shared.providers.close()
  })
  beforeEach(async () => {
    shared.providers.behaveWell()
    await deleteAllUsers(shared.service)
  })
  return shared
}

export const expectNoUserAndNoSession = async (service: Latchkey, answer: { setCookies: string[] }) => {
  expect(sessionCookiesOf(answer)).toEqual([])
  expect(await usersOf(service)).toEqual([])
}
