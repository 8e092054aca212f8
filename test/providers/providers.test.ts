import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Clock } from '../../src/lib/clock.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { randomToken } from '../../src/lib/random.js'

import { createOutbound, type OutboundOptions } from '../../src/platform/outbound/outbound.js'
import { createGitHub } from '../../src/providers/github.js'
import { createOpenIdConnect } from '../../src/providers/openid-connect.js'
import type { Provider } from '../../src/providers/provider.js'

import { createMovableClock } from '../support/clock.js'
import { createGitHubShaped, type GitHubShaped } from '../support/providers/github.js'
import { githubModes } from '../support/providers/github-modes.js'
import { createIssuer, type Issuer } from '../support/providers/issuer.js'
import { discoveryModes, issuerModes } from '../support/providers/issuer-modes.js'
import { replies } from '../support/providers/replies.js'
import { startStopwatch } from '../support/stopwatch.js'

const redirectUri = 'http://localhost:3000/api/auth/callback'
const outbound = (options: OutboundOptions = {}) => createOutbound({ allowLoopbackHttp: true, ...options })

const newChecks = () => ({ state: randomToken(), verifier: randomToken(), nonce: randomToken() })

/** Walks the way of the browser: to the provider, which answers at once, and back. */
const walk = async (provider: Provider, checks = newChecks()) => {
  const begun = await provider.begin(checks)
  if (!(begun instanceof URL)) return begun
  const answer = await fetch(begun, { redirect: 'manual' })
  return provider.finish(new URL(answer.headers.get('location') ?? ''), checks)
}

const outcomeOf = async (walked: ReturnType<typeof walk>) => {
  const outcome = await walked
  return 'refused' in outcome ? outcome.refused : 'signed_in'
}

let issuer: Issuer
let github: GitHubShaped

beforeAll(async () => {
  issuer = await createIssuer()
  github = await createGitHubShaped()
})

afterAll(async () => {
  await issuer.close()
  await github.close()
})

beforeEach(() => {
  issuer.behave({})
  issuer.become({})
  github.behave({})
  github.become({})
})

const openIdConnect = (options: OutboundOptions = {}, clock: Clock = createMovableClock()) =>
  createOpenIdConnect(
    'provider_a',
    { ...issuer, name: 'An issuer', redirectUri, production: false },
    { outbound: outbound(options), clock },
  )

const gitHub = (options: OutboundOptions = {}) =>
  createGitHub(
    'provider_b',
    { ...github, name: 'A hub', redirectUri, production: false },
    { outbound: outbound(options) },
  )

describe('an OpenID Connect provider', () => {
  it('asks for openid, profile and email, with PKCE, state and nonce', async () => {
    const checks = newChecks()
    const address = await openIdConnect().begin(checks)
    if (!(address instanceof URL)) throw new Error('it was refused')
    const asked = Object.fromEntries(address.searchParams)
    expect(address.origin + address.pathname).toBe(`${issuer.issuer}/authorize`)
    expect(asked).toMatchObject({
      response_type: 'code',
      client_id: 'client-a',
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state: checks.state,
      nonce: checks.nonce,
      code_challenge_method: 'S256',
    })
    expect(address.href).not.toContain(checks.verifier)
  })

  it('reads who the person is', async () => {
    expect(await walk(openIdConnect())).toEqual({
      subject: 'subject-1',
      email: 'ada@example.com',
      username: 'ada',
      name: 'Ada Example',
      provenAt: expect.any(Date),
    })
  })

  it.each([...discoveryModes, ...issuerModes])('%s', async (_sentence, behaviour, outcome) => {
    issuer.behave(behaviour)
    expect(await outcomeOf(walk(openIdConnect()))).toBe(outcome)
  })

  it.each(['discovery', 'token', 'keys', 'userinfo'] as const)('gives up in time when %s is slow', async (part) => {
    const time = startStopwatch()
    for (const reply of [replies.silent, replies.trickling]) {
      issuer.behave({ instead: { [part]: reply }, idToken: ({ name: _, ...claims }) => claims })
      expect(await walk(openIdConnect({ totalTimeout: 300 }))).toEqual({ refused: 'failed', cause: 'timeout' })
    }
    expect(time()).toBeLessThan(3 * seconds)
  })

  it('refuses an answer to another state, verifier or nonce', async () => {
    const provider = openIdConnect()
    for (const change of ['state', 'verifier', 'nonce'] as const) {
      const checks = newChecks()
      const begun = await provider.begin(checks)
      const answer = await fetch(String(begun), { redirect: 'manual' })
      const callback = new URL(answer.headers.get('location') ?? '')
      const finished = await provider.finish(callback, { ...checks, [change]: randomToken() })
      expect(finished).toMatchObject({ refused: 'failed' })
    }
  })

  it('refuses a code that was used before', async () => {
    const provider = openIdConnect()
    const checks = newChecks()
    const answer = await fetch(String(await provider.begin(checks)), { redirect: 'manual' })
    const callback = new URL(answer.headers.get('location') ?? '')
    expect(await provider.finish(callback, checks)).toMatchObject({ subject: 'subject-1' })
    expect(await provider.finish(callback, checks)).toEqual({ refused: 'failed', cause: 'invalid_grant' })
  })

  it('discovers once for many, and again after a failure once that has cooled', async () => {
    const clock = createMovableClock()
    const provider = openIdConnect({}, clock)
    const discoveries = () => issuer.requests.filter((path) => path.startsWith('/.well-known/')).length
    const before = discoveries()
    issuer.behave({ instead: { discovery: replies.serverError } })
    const crowd = Array.from({ length: 20 }, () => provider.begin(newChecks()))
    expect((await Promise.all(crowd)).every((begun) => 'refused' in begun)).toBe(true)
    expect(await provider.begin(newChecks())).toMatchObject({ refused: 'failed' })
    expect(discoveries() - before).toBe(1)
    issuer.behave({})
    clock.advance(6 * seconds)
    await Promise.all(Array.from({ length: 20 }, () => provider.begin(newChecks())))
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    expect(discoveries() - before).toBe(2)
  })

  it('goes on with what it knows while a newer discovery fails', async () => {
    const clock = createMovableClock()
    const provider = openIdConnect({}, clock)
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    clock.advance(90 * minutes)
    issuer.behave({
      instead: { discovery: replies.serverError },
      idToken: (claims) => ({ ...claims, iat: Number(claims.iat) + 5400, exp: Number(claims.exp) + 5400 }),
    })
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
  })

  it('goes by the clock it was given when it looks at the times of a token', async () => {
    const clock = createMovableClock()
    const provider = openIdConnect({}, clock)
    clock.advance(60 * minutes)
    expect(await outcomeOf(walk(provider))).toBe('failed')
  })

  it('speaks plain http to no issuer in production, nor to one elsewhere', async () => {
    const settings = { ...issuer, name: 'An issuer', redirectUri }
    const parts = { outbound: outbound(), clock: createMovableClock() }
    const inProduction = createOpenIdConnect('provider_a', { ...settings, production: true }, parts)
    expect(await inProduction.begin(newChecks())).toMatchObject({ refused: 'failed' })
    const elsewhere = { ...settings, issuer: 'http://issuer.example', production: false }
    expect(await createOpenIdConnect('provider_a', elsewhere, parts).begin(newChecks())).toMatchObject({
      refused: 'failed',
    })
  })

  it('names causes in fixed words, whatever the provider wrote', async () => {
    issuer.behave({ callback: (parameters) => [parameters.delete('code'), parameters.set('error', 'hush <b>')] })
    expect(await walk(openIdConnect())).toEqual({ refused: 'failed', cause: 'denied' })
  })
})

describe('the signing keys of an OpenID Connect provider', () => {
  const keyRequests = () => issuer.requests.filter((path) => path === '/keys').length

  it('are asked for once and kept', async () => {
    const provider = openIdConnect()
    const before = keyRequests()
    for (let count = 0; count < 3; count += 1) expect(await outcomeOf(walk(provider))).toBe('signed_in')
    expect(keyRequests() - before).toBe(1)
  })

  it('are asked for again at once when a new key signs', async () => {
    const provider = openIdConnect()
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    issuer.rotate()
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
  })

  it('are asked for once in a cool-down, however many tokens name unknown keys', async () => {
    const clock = createMovableClock()
    const provider = openIdConnect({}, clock)
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    const before = keyRequests()
    const unknownKey = issuerModes.find(([sentence]) => sentence === 'another key signs under its own name')
    issuer.behave(unknownKey?.[1] ?? {})
    for (let count = 0; count < 5; count += 1) expect(await outcomeOf(walk(provider))).toBe('failed')
    expect(keyRequests() - before).toBe(1)
    clock.advance(31 * seconds)
    expect(await outcomeOf(walk(provider))).toBe('failed')
    expect(keyRequests() - before).toBe(2)
    issuer.behave({})
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
  })

  it('serve on while the provider cannot give them out anew', async () => {
    const clock = createMovableClock()
    const provider = openIdConnect({}, clock)
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    clock.advance(10 * minutes)
    issuer.behave({
      instead: { keys: replies.serverError },
      idToken: (claims) => ({ ...claims, iat: Number(claims.iat) + 600, exp: Number(claims.exp) + 600 }),
    })
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
    expect(await outcomeOf(walk(provider))).toBe('signed_in')
  })
})

describe('a GitHub-shaped provider', () => {
  it('asks for user:email, with PKCE and state', async () => {
    const checks = newChecks()
    const address = await gitHub().begin(checks)
    if (!(address instanceof URL)) throw new Error('it was refused')
    expect(address.origin + address.pathname).toBe(`${github.url}/login/oauth/authorize`)
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      client_id: 'client-b',
      redirect_uri: redirectUri,
      scope: 'user:email',
      state: checks.state,
      code_challenge_method: 'S256',
    })
  })

  it('reads who the person is, by number', async () => {
    expect(await walk(gitHub())).toEqual({
      subject: '583231',
      email: 'ada@example.com',
      username: 'ada',
      name: 'Ada Example',
    })
  })

  it.each(githubModes)('%s', async (_sentence, behaviour, outcome) => {
    github.behave(behaviour)
    expect(await outcomeOf(walk(gitHub()))).toBe(outcome)
  })

  it.each(['token', 'user', 'emails'] as const)('gives up in time when %s is slow', async (part) => {
    for (const reply of [replies.silent, replies.trickling]) {
      github.behave({ instead: { [part]: reply } })
      expect(await walk(gitHub({ totalTimeout: 300 }))).toEqual({ refused: 'failed', cause: 'timeout' })
    }
  })

  it('gives up in time over many slow pages together', async () => {
    const slowly = (response: Parameters<typeof replies.html>[0]) =>
      void setTimeout(() => {
        response.setHeader('link', `<${github.apiUrl}/user/emails?page=2>; rel="next"`)
        response.setHeader('content-type', 'application/json')
        response.end('[]')
      }, 100)
    github.behave({ instead: { emails: slowly } })
    expect(await walk(gitHub({ totalTimeout: 350 }))).toEqual({ refused: 'failed', cause: 'timeout' })
  })

  it('never speaks plain http in production', async () => {
    const provider = createGitHub(
      'provider_b',
      { ...github, name: 'A hub', redirectUri, production: true },
      { outbound: createOutbound() },
    )
    expect(await provider.begin(newChecks())).toMatchObject({ refused: 'failed' })
  })
})
