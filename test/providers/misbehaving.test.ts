import { describe, expect, it } from 'vitest'
import { seconds } from '../../src/lib/durations.js'
import { githubModes } from '../support/providers/github-modes.js'
import { discoveryModes, issuerModes, type Outcome } from '../support/providers/issuer-modes.js'
import { replies } from '../support/providers/replies.js'
import {
  comeBack,
  goToProvider,
  type ProviderName,
  sessionCookiesOf,
  signInWith,
  usersOf,
} from '../support/providers/test-providers.js'
import { startStopwatch } from '../support/stopwatch.js'
import { useProviders } from './shared-service.js'

const shared = useProviders()

const landings = (provider: ProviderName): Record<Outcome, string> => {
  const failed = `/login?error=${provider.replace('-', '_')}_auth_failed`
  const because = (reason: string) => `${failed}&reason=${reason}`
  return { signed_in: '/dashboard', failed, cancelled: because('cancelled'), no_email: because('no_email') }
}

const endsWith =
  (outcome: Outcome) =>
  ([, , ends]: [string, unknown, Outcome]) =>
    ends === outcome

const expectOutcome = async (provider: ProviderName, outcome: Outcome) => {
  const answer = await signInWith(shared.service.browser(), provider)
  expect(answer.status).toBe(303)
  expect(answer.location).toBe(landings(provider)[outcome])
  expect(sessionCookiesOf(answer)).toHaveLength(outcome === 'signed_in' ? 2 : 0)
  expect(await usersOf(shared.service)).toHaveLength(outcome === 'signed_in' ? 1 : 0)
}

// providers.test.ts has everything that a provider may do wrong. Here is where the browser ends up.
describe('a provider that was never reached', () => {
  it.each(discoveryModes.slice(-1))('%s: the browser stays here', async (_sentence, behaviour) => {
    shared.providers.issuer.behave(behaviour)
    const answer = await shared.service.browser().get('/api/auth/provider-a')
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toBe('/login?error=provider_a_auth_failed')
    expect(answer.setCookies).toEqual([])
  })

  it('is found once it is back, without a restart', async () => {
    // A failure is remembered for some seconds.
    await shared.service.advance(6 * seconds)
    await expectOutcome('provider-a', 'signed_in')
  })
})

describe('a provider that answers wrongly', () => {
  it.each<Outcome>(['failed', 'cancelled', 'no_email'])('ends at the login page: %s', async (outcome) => {
    for (const [, behaviour] of issuerModes.filter(endsWith(outcome)).slice(0, 1))
      shared.providers.issuer.behave(behaviour)
    await expectOutcome('provider-a', outcome)
    for (const [, behaviour] of githubModes.filter(endsWith(outcome)).slice(0, 1))
      shared.providers.github.behave(behaviour)
    await expectOutcome('provider-b', outcome)
  })
})

describe('a provider that is stuck', () => {
  it('is given up after ten seconds, and holds up no other request meanwhile', async () => {
    const browsers = Array.from({ length: 20 }, () => shared.service.browser())
    const callbacks = await Promise.all(browsers.map((browser) => goToProvider(browser, 'provider-a')))
    shared.providers.issuer.behave({ instead: { token: replies.silent } })
    const [meanwhile, untilTheEnd] = [startStopwatch(), startStopwatch()]
    const stuck = Promise.all(browsers.map((browser, index) => comeBack(browser, callbacks[index] ?? '')))

    expect((await signInWith(shared.service.browser(), 'provider-b')).location).toBe('/dashboard')
    expect((await shared.service.browser().get('/health')).status).toBe(200)
    expect(meanwhile()).toBeLessThan(5 * seconds)

    const answers = await stuck
    expect(new Set(answers.map(({ location }) => location))).toEqual(new Set(['/login?error=provider_a_auth_failed']))
    expect(untilTheEnd()).toBeLessThan(20 * seconds)
    expect(answers.flatMap(sessionCookiesOf)).toEqual([])
  })
})
