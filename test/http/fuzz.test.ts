import { randomInt } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { route } from '../../src/http/route.js'
import { createServer } from '../../src/http/server.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { passwordFacts, unchecked } from '../support/session-facts.js'
import { type Credentials, fuzz } from './fuzz.js'
import { type Operation, operationsOf } from './fuzz-requests.js'

const requests = Number(process.env.FUZZ_REQUESTS ?? inLongRun(20_000, 200))
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31 - 1))

/** Beside the API document: addresses that answer people. */
const pages: Operation[] = ['/login', '/dashboard', '/login/', '/api/auth/assets/{name}', '/{nothing}'].map((path) => ({
  method: 'GET',
  path,
  query: ['returnTo', 'error'],
}))

/**
 * A session of its own, made without a password check: that would take most of the time. A random request may rename the user and
 * another one delete the account: then there is a new user.
 */
const signInTo = async (latchkey: Latchkey) => {
  let users = 0
  const signUp = async () => {
    users += 1
    const tab = await latchkey.signedUp(`tester-${users}`)
    const { body } = await tab.get('/api/auth/account')
    return { ...(body.user as { id: string; username: string; email: string }), name: null }
  }
  const client = { ip: '192.0.2.1', userAgent: 'fuzz' }
  const { sessions } = latchkey.app.rooms
  const begin = () =>
    latchkey.sql.transaction((sql) => sessions.beginSession(sql, unchecked(user), passwordFacts, client))
  let user = await signUp()
  return async (): Promise<Credentials> => {
    let issued = await begin()
    if (!issued) {
      user = await signUp()
      issued = await begin()
    }
    if (!issued) throw new Error('No session was begun')
    const { accessToken, refreshToken } = issued
    const visitor = latchkey.browser()
    visitor.jar.set('access_token', accessToken)
    visitor.jar.set('refresh_token', refreshToken)
    const csrfToken = await visitor.csrfToken()
    return { accessToken, refreshToken, csrfToken, csrfSecret: visitor.jar.get('csrf_secret') ?? '' }
  }
}

describe('random requests to every operation', () => {
  it(
    `find no server error, no slow answer and no leak: ${requests} of them, FUZZ_SEED=${seed}`,
    async () => {
      console.log(`fuzz: ${requests} requests, FUZZ_SEED=${seed}`)
      const latchkey = await startLatchkey({ settings: { LOG_LEVEL: 'error', MAIL_SIGN_IN: 'on' } })
      try {
        const { body } = await latchkey.browser().get('/api/openapi.json')
        const operations = operationsOf(body)
        expect(operations.length).toBeGreaterThan(25)
        const signIn = await signInTo(latchkey)
        const all = [...operations, ...pages]
        const failures = await fuzz({ url: latchkey.url, operations: all, requests, seed, signIn })
        expect(failures.slice(0, 5)).toEqual([])
        expect(latchkey.logLines).toEqual([])
      } finally {
        await latchkey.stop()
      }
    },
    60_000 + requests * 100,
  )
})

describe('the fuzz itself', () => {
  it('finds planted faults: an exception, a slow answer and a leak', async () => {
    const log = pino({ level: 'silent' })
    const { server } = createServer({ log, production: false, publicUrl: 'http://localhost', trustProxy: undefined })
    const kept: string[][] = []
    const Body = Type.Object({ name: Type.String(), note: Type.String() })
    const answers = { 200: Type.String() }
    const planted = { hidden: true, guard: [], refuses: [], answers, config: { unlimited: 'A test' } } as const
    route(server, 'POST /throws', {
      ...planted,
      body: Body,
      handle: async ({ body }) => {
        if (/[^\x20-\x7e]/.test(body.name)) throw new Error('planted')
        return 'ok'
      },
    })
    route(server, 'GET /waits', {
      ...planted,
      handle: async ({ request }) => {
        if ('state' in (request.query as object)) await wait(600)
        return 'ok'
      },
    })
    route(server, 'GET /leaks', {
      ...planted,
      handle: async ({ request: { id } }) => {
        kept.push(new Array<string>(20_000).fill(id))
        return 'ok'
      },
    })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    const schema = { properties: { name: {}, note: {} } }
    const find = async (
      method: string,
      path: string,
      requests: number,
      options: Partial<Parameters<typeof fuzz>[0]>,
    ) => {
      const operations = [{ method, path, schema, query: [] }]
      const found = await fuzz({ url, operations, requests, seed, slowest: 20_000, watchesMemory: false, ...options })
      return [...new Set(found.map(({ kind }) => kind))]
    }
    try {
      expect(await find('POST', '/throws', 100, {})).toEqual(['server error'])
      expect(await find('GET', '/leaks', 200, { watchesMemory: true })).toEqual(['memory'])
      kept.length = 0
      expect(await find('GET', '/waits', 80, { slowest: 500 })).toEqual(['slow'])
    } finally {
      await server.close()
    }
  })
})
