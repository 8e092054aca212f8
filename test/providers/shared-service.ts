import { afterAll, beforeAll, beforeEach, expect } from 'vitest'
import type { Latchkey } from '../support/latchkey.js'
import {
  forgetEverybody,
  type Side,
  sessionCookiesOf,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from '../support/providers/test-providers.js'

export const sides: Side[] = ['provider-a', 'provider-b']
export const failedAt = (side: Side) => `/login?error=${side.replace('-', '_')}_auth_failed`

/** Both providers and a service for the tests of a file; before each of them the providers behave and nobody is known. */
export const setScene = () => {
  const scene = {} as { providers: TestProviders; service: Latchkey }
  beforeAll(async () => {
    scene.providers = await startProviders()
    scene.service = await startService(scene.providers)
  })
  afterAll(async () => {
    await scene.service.stop()
    await scene.providers.close()
  })
  beforeEach(async () => {
    scene.providers.behaveWell()
    await forgetEverybody(scene.service)
  })
  return scene
}

export const expectNobody = async (service: Latchkey, answer: { setCookies: string[] }) => {
  expect(sessionCookiesOf(answer)).toEqual([])
  expect(await usersOf(service)).toEqual([])
}
