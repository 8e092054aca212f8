import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import * as oauth from 'oauth4webapi'
import { beforeAll, describe, expect, it } from 'vitest'
import { type ResourceGuardOptions, resourceAuthOf, resourceGuard } from './resource.js'

const publicUrl = 'https://auth.example.com'
const issuer = `${publicUrl}/api/auth`
const resource = 'https://mcp.example.com/mcp'
const metadataUrl = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'
const sub = '0197c6a8-5d3b-7c6e-9f5a-3f8f5b1c2d3e'
const sid = '0197c6a8-5d3b-7c6e-9f5a-3f8f5b1c2d3f'

type Pair = Awaited<ReturnType<typeof generateKeyPair>>
let es: Pair
let rs: Pair
let published: object
beforeAll(async () => {
  ;[es, rs] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('RS256', { extractable: true })])
  published = {
    keys: [
      { ...(await exportJWK(es.publicKey)), kid: 'es', alg: 'ES256', use: 'sig' },
      { ...(await exportJWK(rs.publicKey)), kid: 'rs', alg: 'RS256', use: 'sig' },
    ],
  }
})

const now = () => Math.floor(Date.now() / 1_000)
const token = (changed: JWTPayload & Record<string, unknown> = {}, header: object = {}, key = es.privateKey) =>
  new SignJWT({
    iss: issuer,
    aud: resource,
    sub,
    sid,
    client_id: 'https://claude.ai/oauth/x',
    scope: 'read',
    gen: 0,
    jti: 'x',
    iat: now(),
    exp: now() + 300,
    ...changed,
  })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'es', ...header })
    .sign(key)

type Service = { keys?: () => Response; revocations?: object[] }

const guardWith = (options: Partial<ResourceGuardOptions> = {}, service: Service = {}) => {
  const fetchService = async (input: string) => {
    if (input === `${issuer}/keys`) return service.keys?.() ?? Response.json(published)
    // The service waits for news, too.
    await new Promise((resolve) => setTimeout(resolve, 50))
    return Response.json({ entries: service.revocations ?? [], cursor: 'x', complete: true })
  }
  const fetch = (async (input: string | URL | Request) => fetchService(String(input))) as typeof globalThis.fetch
  return resourceGuard({
    publicUrl,
    resource,
    scopes: ['read', 'write'],
    fetch,
    onProblem: () => undefined,
    ...options,
  })
}
const ask = (headers: Record<string, string> = {}, path = '/mcp', method = 'POST') =>
  new Request(`https://mcp.example.com${path}`, { method, headers })
const withToken = (text: string) => ask({ authorization: `Bearer ${text}` })
const statusOf = async (guard: ReturnType<typeof guardWith>, text: string) =>
  (await guard.fetch(withToken(text))).response?.status ?? 200

describe('a request for the metadata', () => {
  it('is answered for any page, as oauth4webapi takes it', async () => {
    const guard = guardWith()
    expect(guard.metadataPath).toBe('/.well-known/oauth-protected-resource/mcp')
    const { response } = await guard.fetch(ask({}, `${guard.metadataPath}?a`, 'GET'))
    if (!response) throw new Error('The metadata was not answered')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const read = await oauth.processResourceDiscoveryResponse(new URL(resource), response)
    expect(read).toEqual({
      resource,
      authorization_servers: [issuer],
      scopes_supported: ['read', 'write'],
      bearer_methods_supported: ['header'],
    })
    expect((await guard.fetch(ask({}, guard.metadataPath, 'OPTIONS'))).response?.status).toBe(204)
  })

  it('has no path after it where the whole host is the resource', async () => {
    const guard = guardWith({ resource: 'https://mcp.example.com/' })
    expect(guard.metadataPath).toBe('/.well-known/oauth-protected-resource')
    expect(await statusOf(guard, await token({ aud: 'https://mcp.example.com' }))).toBe(200)
  })
})

describe('a request', () => {
  it('without a token is told where to get one, and which scopes to ask for', async () => {
    const { response } = await guardWith().fetch(ask())
    expect([response?.status, response?.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer resource_metadata="${metadataUrl}", scope="read write"`,
    ])
  })

  it('with a token names the program, its scopes and the user', async () => {
    const request = withToken(await token({ preferred_username: 'ada', email: 'ada@example.com', groups: ['staff'] }))
    const { auth } = await guardWith().fetch(request)
    expect(auth).toMatchObject({
      clientId: 'https://claude.ai/oauth/x',
      scopes: ['read'],
      user: { id: sub, username: 'ada', name: undefined, email: 'ada@example.com', groups: ['staff'] },
      sessionId: sid,
    })
    expect(resourceAuthOf(request)).toBe(auth)
    expect(() => resourceAuthOf(ask())).toThrow(/No resource guard/)
  })

  it('with RS256 is checked by a key of RS256', async () => {
    const guard = guardWith()
    expect(await statusOf(guard, await token({}, { alg: 'RS256', kid: 'rs' }, rs.privateKey))).toBe(200)
    expect(await statusOf(guard, await token({}, { alg: 'RS256', kid: 'es' }, rs.privateKey))).toBe(401)
  })

  it.each([
    ['of another resource', { aud: 'https://mcp.example.com/other' }, {}],
    ['of several', { aud: [resource, 'https://x.example'] }, {}],
    ['of the tokens of sessions', { iss: publicUrl }, {}],
    ['that has expired', { exp: 1 }, {}],
    ['of the future', { iat: Math.floor(Date.now() / 1_000) + 600 }, {}],
    ['without a session', { sid: undefined }, {}],
    ['without a scope', { scope: undefined }, {}],
    ['that is an ID token', {}, { typ: 'JWT' }],
    ['with a header more', {}, { jku: 'https://evil.example' }],
    ['of an unknown key', {}, { kid: 'other' }],
  ])('with a token %s is refused', async (_, claims, header) => {
    const guard = guardWith()
    const { response } = await guard.fetch(withToken(await token(claims, header)))
    expect([response?.status, response?.headers.get('www-authenticate')]).toEqual([
      401,
      `Bearer error="invalid_token", resource_metadata="${metadataUrl}", scope="read write"`,
    ])
  })

  it('with an altered token, none at all in the header, or another scheme is refused', async () => {
    const guard = guardWith()
    const good = await token()
    const [header, , signature] = good.split('.')
    const forged = `${header}.${btoa(JSON.stringify({ iss: issuer, aud: resource })).replaceAll('=', '')}.${signature}`
    for (const text of [forged, `${good}A`, 'x', '', `${good}.x`]) expect(await statusOf(guard, text)).toBe(401)
    expect((await guard.fetch(ask({ authorization: 'Basic eDp5' }))).response?.status).toBe(401)
  })

  it('with too few scopes is told what is needed beside what it has', async () => {
    const guard = guardWith({ needs: ['write'] })
    const { response } = await guard.fetch(withToken(await token()))
    expect([response?.status, response?.headers.get('www-authenticate')]).toEqual([
      403,
      `Bearer error="insufficient_scope", resource_metadata="${metadataUrl}", scope="read write"`,
    ])
    expect((await guard.needing('read').fetch(withToken(await token()))).goOn).toBe(true)
    expect(await statusOf(guardWith(), await token({ scope: 'openid email' }))).toBe(403)
    expect(await statusOf(guardWith({ scopes: [] }), await token({ scope: '' }))).toBe(200)
  })

  it('of a session that has ended is refused, and one of its newer tokens is not', async () => {
    const options = { revocations: { serviceKey: 'latchkey_0123456789abcdef' } }
    const guard = guardWith(options, { revocations: [{ sid, below: 1 }] })
    await expect.poll(async () => statusOf(guard, await token({ gen: 1 }))).toBe(200)
    expect(await statusOf(guard, await token())).toBe(401)
    guard.close()
  })

  it('that is answered with a stream is told when its session ends, and no other one is', async () => {
    const service: Service = {}
    const guard = guardWith({ revocations: { serviceKey: 'latchkey_0123456789abcdef' } }, service)
    await expect.poll(async () => statusOf(guard, await token())).toBe(200)
    const [ended, other] = [
      await guard.fetch(withToken(await token())),
      await guard.fetch(withToken(await token({ gen: 1 }))),
    ]
    expect([ended.auth?.signal.aborted, other.auth?.signal.aborted]).toEqual([false, false])
    service.revocations = [{ sid, below: 1 }]
    await expect.poll(() => ended.auth?.signal.aborted).toBe(true)
    expect(other.auth?.signal.aborted).toBe(false)
    guard.close()
  })

  it('that is answered with a stream is told when its token expires, also without a list', async () => {
    const { auth } = await guardWith().fetch(withToken(await token({ exp: now() + 2 })))
    expect(auth?.signal.aborted).toBe(false)
    await expect.poll(() => auth?.signal.aborted, { timeout: 5_000 }).toBe(true)
    const late = await guardWith().fetch(withToken(await token({ exp: now() + 2 })))
    await new Promise((resolve) => setTimeout(resolve, 2_100))
    expect(late.auth?.signal.aborted).toBe(true)
  })

  it('is answered with 503 while no key was ever read', async () => {
    const guard = guardWith({}, { keys: () => new Response('', { status: 500 }) })
    expect(await statusOf(guard, await token())).toBe(503)
  })
})

it.each([
  [{ resource: 'mcp' }, /resource: must be an address/],
  [{ resource: 'https://mcp.example.com/mcp?a' }, /resource: must be an address/],
  [{ scopes: ['a b'] }, /scopes: must be a list/],
  [{ scopes: undefined }, /scopes: is undefined/],
  [{ needs: ['admin'] }, /needs: must be among scopes/],
  [{ scope: ['read'] }, /scope: is no option/],
])('a wrong option is an error at once: %j', (options, message) => {
  expect(() => guardWith(options as Partial<ResourceGuardOptions>)).toThrow(message)
})

describe('in a framework', () => {
  it('Hono and Next get the same answers', async () => {
    const guard = guardWith()
    const request = withToken(await token())
    const context = { req: { raw: request } }
    expect(await guard.hono(context, async () => undefined)).toBeUndefined()
    expect(resourceAuthOf(context).clientId).toBe('https://claude.ai/oauth/x')
    expect((await guard.hono({ req: { raw: ask() } }, async () => undefined))?.status).toBe(401)
    const handler = guard.next((_, { user }) => new Response(user.id))
    expect(await (await handler(request, {})).text()).toBe(sub)
    expect((await handler(ask(), {})).status).toBe(401)
    expect((await guard.next()(ask({}, guard.metadataPath, 'GET'), {})).status).toBe(200)
  })

  const nodeResponse = () => {
    const sent = { status: 0, headers: {} as Record<string, string>, body: '' }
    const response = {
      statusCode: 0,
      getHeader: () => undefined,
      setHeader: (name: string, value: string | string[]) => {
        sent.headers[name] = String(value)
      },
      writeHead: () => undefined,
      end: (text: string) => {
        Object.assign(sent, { status: response.statusCode, body: text })
      },
    }
    return { sent, response }
  }

  it('Node, Express and Fastify get the same answers, by the address that was asked for', async () => {
    const guard = guardWith()
    const good = {
      method: 'POST',
      url: '/',
      originalUrl: '/mcp',
      headers: { authorization: `Bearer ${await token()}` },
    }
    const bad = { ...good, headers: {} }
    const asked = { ...bad, method: 'GET', originalUrl: guard.metadataPath }
    for (const [request, status] of [
      [good, 0],
      [bad, 401],
      [asked, 200],
    ] as const) {
      const byNode = nodeResponse()
      await guard.node(request, byNode.response)
      expect(byNode.sent.status).toBe(status)
      const byExpress = nodeResponse()
      const isNext = await new Promise((resolve) => {
        byExpress.response.end = () => resolve(false)
        guard.express(request, byExpress.response, () => resolve(true))
      })
      expect(isNext).toBe(status === 0)
      const byFastify = { status: 0 }
      const reply = {
        status: (code: number) => Object.assign(byFastify, { status: code }),
        header: () => undefined,
        send: () => undefined,
      }
      await guard.fastify(request, reply)
      expect(byFastify.status).toBe(status)
    }
    expect(resourceAuthOf(good).user.id).toBe(sub)
  })
})
