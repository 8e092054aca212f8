import { describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { comeBack, goToProvider, type ProviderName, sessionCookiesOf } from '../support/providers/test-providers.js'
import { expectNoUserAndNoSession, failedSignInPath, providerNames, useProviders } from './shared-service.js'

const shared = useProviders()

describe.each(providerNames)('an answer from %s', (provider) => {
  const other: ProviderName = provider === 'provider-a' ? 'provider-b' : 'provider-a'

  it('is refused without a state, with a made-up one, or with two', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    const state = new URLSearchParams(callback.split('?')[1]).get('state') ?? ''
    const forged = [
      callback.replace(/state=[^&]+/, ''),
      callback.replace(state, `${state.slice(0, -1)}${state.endsWith('A') ? 'B' : 'A'}`),
      `${callback}&state=${state}`,
      callback.replace(state, 'x'.repeat(5000)),
      `/api/auth/${provider}/callback`,
    ]
    for (const each of forged) {
      const answer = await comeBack(browser, each)
      expect(answer.location).toBe(failedSignInPath(provider))
      await expectNoUserAndNoSession(shared.service, answer)
    }
  })

  it('is refused in another browser', async () => {
    const callback = await goToProvider(shared.service.browser(), provider)
    const stranger = shared.service.browser()
    await goToProvider(stranger, provider)
    const answer = await comeBack(stranger, callback)
    expect(answer.location).toBe(failedSignInPath(provider))
    await expectNoUserAndNoSession(shared.service, answer)
  })

  it('is refused when the attempt was altered', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    for (const [name, value] of browser.jar) browser.jar.set(name, `${value.slice(0, 20)}x${value.slice(21)}x`)
    const answer = await comeBack(browser, callback)
    expect(answer.location).toBe(failedSignInPath(provider))
    await expectNoUserAndNoSession(shared.service, answer)
  })

  it('is refused when it comes twice', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    const thief = browser.copy()
    expect((await comeBack(browser, callback)).location).toBe('/dashboard')
    const replayed = await comeBack(thief, callback)
    expect(replayed.location).toBe(failedSignInPath(provider))
    expect(sessionCookiesOf(replayed)).toEqual([])
  })

  it('makes one session when it comes twenty times at once', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    const tabs = Array.from({ length: 20 }, () => browser.copy())
    const answers = await Promise.all(tabs.map((tab) => comeBack(tab, callback)))
    expect(answers.filter(({ location }) => location === '/dashboard')).toHaveLength(1)
    expect(answers.filter(({ location }) => location === failedSignInPath(provider))).toHaveLength(19)
    expect(answers.flatMap(sessionCookiesOf)).toHaveLength(2)
    expect(await shared.service.sql.query('select id from sessions')).toHaveLength(1)
  })

  it('is refused at the other provider\u2019s callback', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    const answer = await comeBack(browser, callback.replace(provider, other))
    expect(answer.location).toBe(failedSignInPath(other))
    await expectNoUserAndNoSession(shared.service, answer)
  })

  it('is not looked at when only its headers are asked for', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    const cookie = [...browser.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const looked = await fetch(new URL(callback, shared.service.url), { method: 'HEAD', headers: { cookie } })
    expect(looked.status).toBe(405)
    expect((await comeBack(browser, callback)).location).toBe('/dashboard')
  })

  it('is refused after ten minutes', async () => {
    const browser = shared.service.browser()
    const callback = await goToProvider(browser, provider)
    await shared.service.advance(10 * minutes + 1000)
    try {
      const answer = await comeBack(browser, callback)
      expect(answer.location).toBe(failedSignInPath(provider))
      await expectNoUserAndNoSession(shared.service, answer)
    } finally {
      await shared.service.advance(-10 * minutes - 1000)
    }
  })
})
