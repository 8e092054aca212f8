import { describe, expect, it } from 'vitest'
import { createTestKeys } from '../../testing/src/keys.js'
import { applicationTokens } from './bearer.js'
import { authOf, expressGuard } from './express.js'
import type { GuardOptions } from './guard.js'
import { createVerifier } from './verifier.js'

const publicUrl = 'https://auth.example.com'
const keys = await createTestKeys({ publicUrl })
const serviceKey = 'latchkey_0123456789abcdef'
const tokenOf = (user: string) => user.padEnd(43, '_')

/** A service with its tokens by application, and everything that it was asked. */
const serve = (tokens: Record<string, string>, status = 200) => {
  const service = { asked: [] as string[], problems: [] as string[], time: Date.now() }
  const answer = async (input: string | URL | Request, init?: RequestInit) => {
    if (!String(input).endsWith('/api/service/token')) return keys.fetch(input)
    const { token } = JSON.parse(String(init?.body))
    service.asked.push(token)
    const application = tokens[token]
    if (status !== 200 || application === undefined) return Response.json({ active: false }, { status })
    const [, payload = ''] = (await keys.token({ username: token.replaceAll('_', '') })).split('.')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    return Response.json({ active: true, application, scope: 'openid profile email', claims })
  }
  const verifier = createVerifier({
    publicUrl,
    jwks: true,
    fetch: answer,
    now: () => service.time,
    onProblem: (message) => service.problems.push(message),
  })
  return { service, verifier }
}

const request = (headers: Record<string, string>) => ({ method: 'GET', path: '/', headers })
const bearer = (token: string) => request({ authorization: `Bearer ${token}` })

describe('tokens of applications', () => {
  const good = tokenOf('ada')

  it('that are random push no good one out of the memory', async () => {
    const { service, verifier } = serve({ [good]: 'cli' })
    const check = applicationTokens({ serviceKey, applications: ['cli'] })
    expect(await check(bearer(good), verifier)).toMatchObject({ ok: true })
    const random = Array.from({ length: 1_500 }, (_, index) => tokenOf(`random-${index}`))
    for (const token of random.slice(0, 1_100))
      expect(await check(bearer(token), verifier)).toMatchObject({ answer: { status: 401 } })
    // Together they are more than are asked for at one time: the last ones are told to try again.
    const together = await Promise.all(random.map((token) => check(bearer(`x${token.slice(1)}`), verifier)))
    expect(together.at(-1)).toMatchObject({ answer: { status: 503 } })
    expect(await check(bearer(good), verifier)).toMatchObject({ ok: true })
    expect(service.asked.filter((token) => token === good)).toHaveLength(1)
    // Also when its ten seconds are over while they come.
    service.time += 10_000
    const others = random.map((token) => check(bearer(`y${token.slice(1)}`), verifier))
    expect(await check(bearer(good), verifier)).toMatchObject({ ok: true })
    await Promise.all(others)
  })

  it('are remembered for the service that was asked, and for no other', async () => {
    const [here, elsewhere] = [serve({ [good]: 'cli' }), serve({})]
    const check = applicationTokens({ serviceKey, applications: ['cli'] })
    expect(await check(bearer(good), here.verifier)).toMatchObject({ ok: true })
    expect(await check(bearer(good), elsewhere.verifier)).toMatchObject({ answer: { status: 401 } })
  })

  it.each([
    [401, 'set serviceUrl'],
    [403, 'tokens:read'],
  ])('are not asked for again and again with a key that is refused with %d', async (status, says) => {
    const { service, verifier } = serve({}, status)
    const ownKey = `${serviceKey}${status}`
    const check = applicationTokens({ serviceKey: ownKey, applications: ['cli'] })
    const other = applicationTokens({ serviceKey: ownKey, applications: ['other'] })
    const together = Array.from({ length: 20 }, (_, times) =>
      [check, other].map((each) => each(bearer(tokenOf(`${times}`)), verifier)),
    )
    for (const answer of await Promise.all(together.flat())) expect(answer).toMatchObject({ answer: { status: 503 } })
    expect(service.asked).toHaveLength(1)
    expect(service.problems).toEqual([expect.stringContaining(says)])
    service.time += 10 * 60_000
    await check(bearer(good), verifier)
    expect(service.asked).toHaveLength(2)
  })

  it('are looked at wherever the header could be read as one, and not left to the cookie', async () => {
    const { verifier } = serve({})
    const check = applicationTokens({ serviceKey, applications: ['cli'] })
    for (const authorization of ['Bearer\tbad', 'Bearer\u00a0bad', ', Bearer bad', 'Basic x, Bearer bad', 'bearer'])
      expect(await check(request({ authorization }), verifier), authorization).toMatchObject({
        answer: { status: 401 },
      })
    expect(await check(request({ authorization: 'Basic YmVhcmVyOng=' }), verifier)).toBeUndefined()
  })
})

describe('a guard behind another one', () => {
  const [ofCli, ofOther] = [tokenOf('ada'), tokenOf('eve')]
  const { verifier } = serve({ [ofCli]: 'cli', [ofOther]: 'other' })
  const taking = (...applications: string[]) => ({ bearer: applicationTokens({ serviceKey, applications }) })

  /** Whom the handler sees behind both guards, or the status of the refusal. */
  const through = (guards: GuardOptions[], headers: Record<string, string>) =>
    new Promise<number | string>((resolve) => {
      const incoming = { method: 'GET', url: '/', headers }
      const response = {
        statusCode: 200,
        getHeader: () => undefined,
        setHeader: () => undefined,
        writeHead: () => undefined,
        end: () => resolve(response.statusCode),
      }
      const [outer, inner] = guards.map((options) => expressGuard(verifier, options))
      outer?.(incoming, response, () => inner?.(incoming, response, () => resolve(authOf(incoming).user.username)))
    })

  it('takes the bearer tokens of its own applications, and none if it takes none', async () => {
    const header = (token: string) => ({ authorization: `Bearer ${token}` })
    expect(await through([taking('cli', 'other'), taking('cli')], header(ofCli))).toBe('ada')
    expect(await through([taking('cli', 'other'), taking('cli')], header(ofOther))).toBe(401)
    expect(await through([taking('cli'), {}], header(ofCli))).toBe(401)
  })

  it('lets the header decide, also if the first one knew the user by the cookie', async () => {
    const cookie = await keys.cookie({ username: 'gus' })
    const guards = [{ optional: true }, taking('cli')]
    expect(await through(guards, { cookie })).toBe('gus')
    expect(await through(guards, { cookie, authorization: `Bearer ${ofCli}` })).toBe('ada')
    expect(await through(guards, { cookie, authorization: `Bearer ${ofOther}` })).toBe(401)
    expect(() => expressGuard(verifier, { bearer: true } as never)).toThrow('@latchkey/verify/bearer')
  })
})
