import { createServer, type Server } from 'node:http'
import { serve } from '@hono/node-server'
import express from 'express'
import { fastify } from 'fastify'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type OpenidClient, type OpenidOptions, openidClient } from '#verify/openid.js'
import type { NewApplication } from '../../src/applications/application-rules.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'
import { freePort } from '../support/servers/server.js'
import { until } from '../support/until.js'
import { createVisitor, type VisitorRequest } from '../support/visitor.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { BACKCHANNEL_ALLOW_PRIVATE: 'true' } })
})
afterAll(() => latchkey.stop())

type Listening = { close(): unknown }

/** The same page in each framework: who is signed in. */
const frameworks: Record<string, (client: OpenidClient, port: number) => Promise<Listening>> = {
  'the Fetch standard': async (client, port) => {
    const fetch = async (request: Request) =>
      (await client.handle(request)) ?? new Response((await client.user(request))?.username ?? 'nobody')
    return serve({ fetch, port, hostname: '127.0.0.1' })
  },
  'node:http': async (client, port) => {
    const server = createServer(async (request, response) => {
      if (await client.handleNode(request, response)) return
      response.end((await client.user(request))?.username ?? 'nobody')
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    return server
  },
  'Express, also behind a parser of forms': async (client, port) => {
    const app = express()
    app.use(express.urlencoded({ extended: false }), client.middleware)
    app.get('/', async (request, response) => void response.send((await client.user(request))?.username ?? 'nobody'))
    const server: Server = app.listen(port, '127.0.0.1')
    return server
  },
  Fastify: async (client, port) => {
    const server = fastify()
    server.addHook('onRequest', async (request, reply) => {
      if (await client.handleNode(request.raw, reply.raw)) reply.hijack()
    })
    server.get('/', async (request) => (await client.user(request))?.username ?? 'nobody')
    await server.listen({ port, host: '127.0.0.1' })
    return server
  },
}

const startApplication = async (
  framework: string,
  options: Partial<OpenidOptions> = {},
  registered: Partial<NewApplication> = {},
) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { application, issuer, endSession } = await openidApplication(latchkey, {
    home: url,
    redirectAddresses: [`${url}/callback`],
    logoutAddresses: [`${url}/`],
    backchannelLogout: `${url}/logged-out`,
    name: `Example ${port}`,
    ...registered,
  })
  const problems: string[] = []
  const client = openidClient({
    issuer,
    clientId: application.id,
    clientSecret: application.secret || undefined,
    redirectUri: `${url}/callback`,
    onProblem: (problem) => problems.push(problem),
    ...options,
  })
  const server = await frameworks[framework]?.(client, port)
  onTestFinished(async () => void (await server?.close()))

  const visit = createVisitor()
  const go = (path: string, sent?: VisitorRequest) => visit(path.startsWith('http') ? path : url + path, sent)
  const locationOf = (answer: { headers: Headers }) => answer.headers.get('location') ?? ''
  /** To our page, which the user's browser answers at once, and the address with the code. */
  const begin = async (user: Browser, path = '/sign-in') => {
    const parameters = new URL(locationOf(await go(path))).searchParams.toString()
    return String((await user.post('/api/auth/authorization', { parameters })).body.location)
  }
  const who = async () => (await go('/')).text
  return { application, client, url, go, locationOf, begin, who, endSession, problems }
}

describe('an application with openidClient', () => {
  it.each(Object.keys(frameworks))(
    'signs a user in and out, and hears of the end of a session: %s',
    async (framework) => {
      const name = `user${Object.keys(frameworks).indexOf(framework)}`
      const user = await latchkey.signedUp(name)
      const { application, go, locationOf, begin, who, endSession, url, problems } = await startApplication(framework)
      expect(await who()).toBe('nobody')
      const finished = await go(await begin(user, '/sign-in?returnTo=/notes%3Fby%3Dday'))
      expect([finished.status, locationOf(finished)]).toEqual([302, '/notes?by=day'])
      expect(await who()).toBe(name)

      // The access alone ends. The session at Latchkey goes on, and the next sign-in with it counts.
      expect((await user.remove(`/api/auth/applications/${application.id}`)).status).toBe(204)
      await until('the notice has come', async () => (await who()) === 'nobody')
      await go(await begin(user))
      expect(await who()).toBe(name)

      // The session ends.
      await user.act('/api/auth/logout')
      await until('the notice has come', async () => (await who()) === 'nobody')
      expect(problems).toEqual([])

      const again = latchkey.browser()
      await again.post('/login', { username: name, password: goodPassword })
      await go(await begin(again))
      expect(await who()).toBe(name)
      const refused = await go('/sign-out', { method: 'POST' })
      expect([refused.status, await who()]).toEqual([403, name])
      const cookie = finished.headers.getSetCookie().find((line) => line.startsWith('openid_session=')) ?? ''
      expect(cookie).toMatch(/; Max-Age=43200; Path=\/; HttpOnly; SameSite=Lax$/)
      const signedOut = await go('/sign-out', { method: 'POST', headers: { origin: url } })
      expect(await endSession(again, Object.fromEntries(new URL(locationOf(signedOut)).searchParams))).toMatchObject({
        next: 'done',
        location: `${url}/`,
      })
      expect(await who()).toBe('nobody')
    },
  )
  it('finishes each of two attempts once, with groups, and its pages say what failed', async () => {
    const user = await latchkey.signedUp('grace')
    await latchkey.sql.query("update users set groups = '{staff}', name = 'Grace' where username = 'grace'")
    await user.post('/api/auth/refresh')
    const { client, go, begin, who, problems } = await startApplication('the Fetch standard')
    const [first, second, third] = [await begin(user), await begin(user), await begin(user)]
    expect((await go(second)).status).toBe(302)
    const finished = await go(first)
    const [cookie = ''] = finished.headers.getSetCookie().filter((line) => line.startsWith('openid_session='))
    const found = await client.user({ headers: { cookie: cookie.split(';')[0] } })
    expect(found).toMatchObject({ username: 'grace', name: 'Grace', email: 'grace@example.com', groups: ['staff'] })
    expect(found?.claims.sub).toBe(found?.id)

    const repeated = await go(first)
    expect([repeated.status, repeated.text]).toEqual([400, expect.stringContaining('The sign-in was not finished')])
    const denied = await go(third.replace(/\bcode=[^&]+/, 'error=access_denied'))
    expect([denied.status, denied.text]).toEqual([403, expect.stringContaining('You have no access')])
    expect(denied.headers.get('content-security-policy')).toContain("default-src 'none'")
    // A sign-in that fails does not end the session of the browser.
    expect(await who()).toBe('grace')
    expect(problems).toEqual([
      'a sign-in was not finished: this browser has begun no such sign-in, or has finished it',
      'a sign-in was not finished: ["access_denied",null]',
    ])
    expect(problems.join()).not.toContain('code=')
  })

  it('takes no code of another attempt, of another browser or for another issuer', async () => {
    const user = await latchkey.signedUp('mallory')
    const { application, client, url, go, begin, who } = await startApplication('the Fetch standard')
    const [first, second] = [new URL(await begin(user)), new URL(await begin(user))]
    const mixed = new URL(first)
    mixed.searchParams.set('code', second.searchParams.get('code') ?? '')
    expect((await go(mixed.href)).status).toBe(400)
    const answer = await client.handle(new Request(second))
    expect(answer?.status).toBe(400)
    const other = new URL(await begin(user))
    other.searchParams.set('iss', 'https://evil.example')
    expect((await go(other.href)).status).toBe(400)
    expect([await who(), application.redirectAddresses]).toEqual(['nobody', [`${url}/callback`]])
  })

  it('begins no session that ended while it was stored', async () => {
    const user = await latchkey.signedUp('racer')
    const stored = new Map<string, unknown>()
    let goOn = () => {}
    const notified = new Promise<void>((resolve) => {
      goOn = resolve
    })
    const { go, begin, who, problems } = await startApplication('the Fetch standard', {
      sessions: {
        get: (id) => stored.get(id) as never,
        // The session is written only after the notice has come.
        set: async (id, session) => {
          await user.act('/api/auth/logout')
          await notified
          stored.set(id, session)
        },
        delete: (id) => stored.delete(id),
        deleteBySid: () => goOn(),
        deleteBySub: () => undefined,
      },
    })
    expect((await go(await begin(user))).status).toBe(400)
    expect([await who(), stored.size]).toEqual(['nobody', 0])
    expect(problems).toEqual(['a sign-in was not finished: the session has ended meanwhile'])
  })
  it('signs in without a secret, and with the other algorithm', async () => {
    const user = await latchkey.signedUp('public')
    const registered = { kind: 'browser', algorithm: 'ES256' } as const
    const { application, go, begin, who } = await startApplication('the Fetch standard', {}, registered)
    expect(application.secret).toBe('')
    await go(await begin(user))
    expect(await who()).toBe('public')
    await user.act('/api/auth/logout')
    await until('the notice has come', async () => (await who()) === 'nobody')
  })
})
