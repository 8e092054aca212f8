import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { adminPath } from '#contract/admin/admin-bodies.js'
import { apiGuide } from '../../scripts/api-guide.mjs'
import { forAdministrators, partOf } from '../../scripts/document-parts.mjs'
import { limiters } from '../../src/http/limiters.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { route } from '../../src/http/route.js'
import { createServer } from '../../src/http/server.js'
import { hours, minutes } from '../../src/lib/durations.js'
import { createLog } from '../../src/platform/log.js'
import { settings } from '../../src/settings/settings.js'
import { idOf, joinGroup, leaveGroup, signedUpInGroup } from '../support/administrators.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Answer, Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { profileFieldsFile } from '../support/profile-fields.js'

const allowed = 'https://app.example.com'
let latchkey: Latchkey
let root: Awaited<ReturnType<typeof signedUpInGroup>>
let target: string
let anEvent: string
let fields: Awaited<ReturnType<typeof profileFieldsFile>>
beforeAll(async () => {
  fields = await profileFieldsFile([{ key: 'nickname', type: 'text', labels: { en: 'Nickname' } }])
  latchkey = await startLatchkey({
    settings: {
      ADMIN_GROUP: 'admins',
      SUPPORT_GROUP: 'helpdesk',
      ALLOWED_ORIGINS: allowed,
      // docs/api.md has its routes too.
      MAIL_SIGN_IN: 'on',
      PROFILE_FIELDS_FILE: fields.path,
    },
  })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  await latchkey.signedUp('tom')
  target = await idOf(latchkey, 'tom')
  const [event] = await latchkey.sql.query<{ id: string }>('select id from events limit 1')
  anEvent = event?.id ?? ''
})
afterAll(async () => {
  await latchkey.stop()
  await fields.remove()
})

const isSearch = (url: string) => url.endsWith('/search')
const routes = () =>
  latchkey.app.routes
    .list()
    .filter(({ url }) => url.startsWith(adminPath))
    .map(({ method, url, adminRole }) => ({ method, url, adminRole, isChange: method !== 'GET' && !isSearch(url) }))

const addressOf = (url: string, id = target) => url.replace(':id', url.includes('/events/') ? anEvent : id)
const body = {
  reason: 'asked by the user',
  token: '0190c0de-0000-7000-8000-000000000001',
  username: 'nobody',
  name: 'none',
  email: 'none@example.com',
  fields: { nickname: 'Nick' },
}

type Sent = { csrf?: boolean; headers?: Record<string, string>; id?: string }
const ask = (tab: Browser, { method, url }: { method: string; url: string }, { id, ...options }: Sent = {}) =>
  tab.send(method, addressOf(url, id), method === 'GET' ? undefined : body, options)

/** Asks every route, and gives what each answered. */
const askAll = async (tab: Browser, options: Sent = {}, chosen = routes()) => {
  const answers: [string, Answer][] = []
  for (const route of chosen) answers.push([`${route.method} ${route.url}`, await ask(tab, route, options)])
  return answers
}
const eachOf = <Value>(answers: [string, Answer][], value: (answer: Answer) => Value) =>
  Object.fromEntries(answers.map(([route, answer]) => [route, value(answer)]))
const all = <Value>(value: Value, chosen = routes()) =>
  Object.fromEntries(chosen.map(({ method, url }) => [`${method} ${url}`, value]))
const codeOf = ({ status, body }: Answer) => `${status} ${body.code ?? ''}`

it('docs/api.md and docs/openapi-admin.json are what the routes say: run npm run docs', async () => {
  const read = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
  const all = latchkey.app.routes.list()
  const guide = await read('api.md')
  expect(guide).toBe(apiGuide(all, limiters, settings))
  const [ours = ''] = guide.split('## OpenID Connect')
  expect(ours.match(/^\| `(GET|POST|PATCH|PUT|DELETE) /gm)).toHaveLength(all.filter(({ isHidden }) => !isHidden).length)
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const document = JSON.parse(await read('openapi-admin.json'))
  expect(document).toEqual(partOf(body, forAdministrators))
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
})

describe('the API of administrators', () => {
  it('has every route behind its guard, and a server does not start with one that has none', () => {
    expect(routes().length).toBeGreaterThan(15)
    expect(routes().filter(({ adminRole }) => adminRole === undefined)).toEqual([])
    const { server } = createServer({
      log: createLog({ level: 'silent' }),
      production: false,
      publicUrl: 'http://localhost:3000',
      trustProxy: undefined,
    })
    const forgotten = {
      hidden: true,
      guard: [],
      refuses: [],
      answers: { 200: Type.String() },
      handle: async () => 'open',
    } as const
    const unlimited = { ...forgotten, config: { unlimited: 'A test' } }
    expect(() => route(server, `GET ${adminPath}/forgotten`, unlimited)).toThrow('has no guard')
    expect(() => route(server, 'GET /forgotten', forgotten)).toThrow('has no limiter')
    expect(() => server.get('/forgotten', async () => 'open')).toThrow('was not declared by route()')
  })

  it('has no other route in the service as it is put together: with one, it does not start', async () => {
    // Fastify tells of each server that is made. The route is added to that of the service, before it is ready.
    const addRoute = (message: unknown) => {
      const { fastify } = message as { fastify: FastifyInstance }
      queueMicrotask(() => fastify.register(async (inner) => inner.get(`${adminPath}/forgotten`, async () => 'open')))
    }
    subscribe('fastify.initialization', addRoute)
    const starting = startLatchkey({ settings: { ADMIN_GROUP: 'admins' } })
    await expect(starting.finally(() => unsubscribe('fastify.initialization', addRoute))).rejects.toThrow(
      `${adminPath}/forgotten`,
    )
  })

  it('does not exist for strangers and for users, whatever the method', async () => {
    const user = await latchkey.signedUp('ulf')
    const unknown = await user.get('/api/auth/nothing-here')
    for (const tab of [latchkey.browser(), user]) {
      expect(eachOf(await askAll(tab), codeOf)).toEqual(all('404 not_found'))
      expect(eachOf(await askAll(tab, { csrf: true }), codeOf)).toEqual(all('404 not_found'))
      const answer = await tab.get(`${adminPath}/users`)
      expect(answer.body).toEqual(unknown.body)
      const names = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('ratelimit'))
      expect(names(answer.headers)).toEqual([])
      for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'POST'])
        for (const url of new Set(routes().map((route) => route.url)))
          expect([method, url, (await tab.send(method, addressOf(url))).status]).toEqual([method, url, 404])
    }
  })

  it('answers nobody while ADMIN_GROUP is not set and no setup has made the group', async () => {
    const unset = await startLatchkey()
    const { tab } = await signedUpInGroup(unset, 'una', 'administrators')
    expect(codeOf(await tab.get(`${adminPath}/users`))).toBe('404 not_found')
    await unset.stop()
  })

  it('is not there with an empty ADMIN_GROUP', async () => {
    const off = await startLatchkey({ settings: { ADMIN_GROUP: '' } })
    const { tab } = await signedUpInGroup(off, 'una', 'admins')
    expect(codeOf(await tab.get(`${adminPath}/users`))).toBe('404 not_found')
    expect(codeOf(await tab.act(`${adminPath}/users`, {}))).toBe('404 not_found')
    expect(off.app.routes.list().filter(({ url }) => url.startsWith(adminPath))).toEqual([])
    await off.stop()
  })

  it('asks a member for a second factor, and says which the account has', async () => {
    const tab = await latchkey.signedUp('olga')
    await joinGroup(latchkey, tab, 'olga', 'admins')
    expect(eachOf(await askAll(tab, { csrf: true }), codeOf)).toEqual(all('403 fresh_sign_in_required'))
    expect((await tab.get(`${adminPath}/users`)).body.methods).toEqual([])
    await addAuthenticator(tab, latchkey)
    expect((await tab.get(`${adminPath}/users`)).body.methods).toEqual(['totp', 'recovery_code'])
  })

  it('answers our own origin only', async () => {
    const foreign = ['https://evil.example', allowed].map((origin) => ({ origin, 'sec-fetch-site': 'same-site' }))
    for (const headers of [...foreign, { 'sec-fetch-site': 'same-site' }]) {
      const answers = await askAll(
        root.tab,
        { csrf: true, headers },
        routes().filter(({ isChange }) => !isChange),
      )
      expect(eachOf(answers, codeOf)).toEqual(
        all(
          '403 cross_site',
          routes().filter(({ isChange }) => !isChange),
        ),
      )
    }
    for (const headers of foreign) {
      const answers = await askAll(root.tab, { csrf: true, headers })
      expect(eachOf(answers, codeOf)).toEqual(all('403 cross_site'))
      expect(answers.filter(([, answer]) => answer.headers.has('access-control-allow-origin'))).toEqual([])
    }
    const preflight = { origin: allowed, 'access-control-request-method': 'POST' }
    const asked = await root.tab.send('OPTIONS', `${adminPath}/users`, undefined, { headers: preflight })
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([404, null])
  })

  it('takes no change and no search without the CSRF token, and no change of the own account', async () => {
    const changes = routes().filter(({ isChange }) => isChange)
    const posted = routes().filter(({ method }) => method !== 'GET')
    expect(posted.length).toBe(changes.length + 2)
    expect(eachOf(await askAll(root.tab, {}, posted), codeOf)).toEqual(all('403 invalid_csrf_token', posted))
    const ofUsers = changes.filter(({ url }) => url.includes('/users/:id/'))
    const answers = await askAll(root.tab, { csrf: true, id: root.id }, ofUsers)
    expect(eachOf(answers, codeOf)).toEqual(all('409 own_account', ofUsers))
  })

  it('lets support look and help, and not change groups, invitations and applications, or touch administrators', async () => {
    const { tab } = await signedUpInGroup(latchkey, 'sue', 'helpdesk')
    const isFor = (role: string) => routes().filter(({ adminRole }) => adminRole === role)
    expect(isFor('admin').map(({ method, url }) => `${method} ${url.slice(adminPath.length)}`)).toEqual([
      'POST /users/:id/delete',
      'PATCH /users/:id/groups',
      'POST /invitations',
      'DELETE /invitations',
      'POST /groups',
      'DELETE /groups',
      'POST /applications',
      'PATCH /applications/:id',
      'DELETE /applications/:id',
      'POST /applications/:id/end-access',
      'POST /applications/:id/secrets',
      'DELETE /applications/:id/secrets/:n',
      'PUT /settings/:name',
      'DELETE /settings/:name',
      'POST /events/:id/change-back',
      'POST /resources',
      'PATCH /resources/:id',
      'DELETE /resources/:id',
    ])
    expect(eachOf(await askAll(tab, { csrf: true }, isFor('admin')), codeOf)).toEqual(
      all('403 group_required', isFor('admin')),
    )
    // The user has no personal token that could be ended, and the id of a user is none of an application: other tests have both.
    const helpful = isFor('support').filter(({ url }) => !/\/(?:end-token|lines)$/.test(url))
    const helping = eachOf(await askAll(tab, { csrf: true }, helpful), ({ status }) => status < 300)
    expect(helping).toEqual(all(true, helpful))
    const touching = isFor('support').filter(({ isChange }) => isChange)
    expect(eachOf(await askAll(tab, { csrf: true, id: root.id }, touching), codeOf)).toEqual(
      all('403 administrators_account', touching),
    )
    // Only administrators see why an administrator did something.
    await latchkey.signedUp('una')
    const una = `${adminPath}/users/${await idOf(latchkey, 'una')}`
    const reason = 'left the company'
    expect((await root.tab.send('POST', `${una}/disable`, { reason }, { csrf: true })).status).toBe(204)
    for (const address of [una, `${adminPath}/events?kind=user_disabled`]) {
      const [toRoot, toSupport] = [await root.tab.get(address), await tab.get(address)]
      expect(toRoot.text).toContain(reason)
      expect(toSupport.text).toContain('user_disabled')
      expect(toSupport.text).not.toContain(reason)
    }
  })

  it('asks for the second factor again, after ten minutes for a change and after eight hours to look', async () => {
    const { tab, prove } = await signedUpInGroup(latchkey, 'stan', 'admins')
    await latchkey.advance(11 * minutes)
    await tab.post('/api/auth/refresh')
    const changes = routes().filter(({ isChange }) => isChange)
    expect(eachOf(await askAll(tab, { csrf: true }, changes), codeOf)).toEqual(
      all('403 fresh_sign_in_required', changes),
    )
    expect((await tab.get(`${adminPath}/users`)).status).toBe(200)
    for (const list of ['users', 'events'])
      expect((await tab.act(`${adminPath}/${list}/search`, { since: '2026-01-01T00:00:00Z' })).status).toBe(200)
    await latchkey.advance(8 * hours)
    await tab.post('/api/auth/refresh')
    expect(eachOf(await askAll(tab, { csrf: true }), codeOf)).toEqual(all('403 fresh_sign_in_required'))
    await prove()
    expect((await tab.get(`${adminPath}/users`)).status).toBe(200)
  })

  it('is gone at once for an administrator who loses the group or is disabled, also with older tokens', async () => {
    const lost = await signedUpInGroup(latchkey, 'lou', 'admins')
    const before = lost.tab.copy()
    expect((await before.get(`${adminPath}/users`)).status).toBe(200)
    await leaveGroup(latchkey, lost.id, 'admins')
    for (const tab of [before, lost.tab]) {
      expect(eachOf(await askAll(tab, { csrf: true }), codeOf)).toEqual(all('404 not_found'))
      await tab.post('/api/auth/refresh')
      expect(codeOf(await tab.get(`${adminPath}/users`))).toBe('404 not_found')
    }
    const disabled = await signedUpInGroup(latchkey, 'dora', 'admins')
    await latchkey.app.rooms.operatorChanges.disable({ userId: disabled.id, client: operatorClient('root') })
    expect(eachOf(await askAll(disabled.tab, { csrf: true }), codeOf)).toEqual(all('404 not_found'))
  })

  it('lets only one of two administrators succeed who disable each other at once', async () => {
    const one = await signedUpInGroup(latchkey, 'ida', 'admins')
    const other = await signedUpInGroup(latchkey, 'jan', 'admins')
    await one.prove()
    const pairs = [[one, other] as const, [other, one] as const]
    const disabled = await Promise.all(
      pairs.map(async ([by, who]) => {
        const path = `${adminPath}/users/${who.id}/disable`
        return (await by.tab.send('POST', path, { reason: 'at once' }, { csrf: true })).status
      }),
    )
    // The session of the slower one has ended, or its group is looked up first.
    expect([
      [204, 401],
      [204, 404],
    ]).toContainEqual(disabled.sort())
    const states = await Promise.all([one, other].map(({ id }) => latchkey.app.rooms.users.findById(id)))
    expect(states.map((user) => user?.disabled).sort()).toEqual([false, true])
  })

  it('asks the database and not the token, also inside the change', async () => {
    const { tab, id } = await signedUpInGroup(latchkey, 'nils', 'admins')
    // Plain SQL: the tokens still name the group.
    await latchkey.sql.query(`update users set groups = '{}' where id = $1`, [id])
    expect(codeOf(await tab.get(`${adminPath}/users`))).toBe('404 not_found')
    await latchkey.signedUp('pat')
    const pat = await idOf(latchkey, 'pat')
    const actor = {
      userId: id,
      sessionId: crypto.randomUUID(),
      role: 'admin',
      groups: ['admins'],
      protectedGroups: [],
    } as const
    const change = latchkey.app.rooms.operatorChanges.disable({
      userId: pat,
      client: { ip: '192.0.2.1', userAgent: '', actor },
    })
    await expect(change).rejects.toMatchObject({ refused: 'not_found' })
    expect((await latchkey.app.rooms.users.findById(pat))?.disabled).toBe(false)
  })
})
