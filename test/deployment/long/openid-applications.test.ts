import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { operatorClient } from '../../../src/http/request-origin.js'
import type { Browser } from '../../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../../support/latchkey.js'
import { openidApplication } from '../../support/openid-application.js'
import { until } from '../../support/until.js'
import { createVisitor } from '../../support/visitor.js'
import { apacheAddresses, startApache } from './apache.js'

/** Debian's own, which has Debian's packages. */
const python = '/usr/bin/python3'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { BACKCHANNEL_ALLOW_PRIVATE: 'true' } })
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
})
afterAll(() => latchkey.stop())

const joinStaff = async (tab: Browser) => {
  const { user } = (await tab.get('/api/auth/account')).body as { user: { id: string } }
  await latchkey.app.rooms.groupChanges.change({ userId: user.id, client: operatorClient('root') }, { add: ['staff'] })
  await tab.post('/api/auth/refresh')
}

/** What our page does with the address that an application has sent its user to. */
const authorize = async (tab: Browser, address: string) => {
  const parameters = new URL(address).search.slice(1)
  const { body } = await tab.post('/api/auth/authorization', { parameters })
  return String(body.location)
}

it('Apache lets members of a group in by mod_auth_openidc, and signs them out with their session', async () => {
  const { origin, page, redirect, backchannelLogout } = await apacheAddresses()
  const { application, issuer, endSession } = await openidApplication(latchkey, {
    name: 'Apache',
    redirectAddresses: [redirect],
    logoutAddresses: [`${origin}/`],
    backchannelLogout,
  })
  const { id, secret } = application
  const apache = await startApache(origin, { id, secret, issuer })
  onTestFinished(apache.stop)

  const enter = async (tab: Browser) => {
    const visit = createVisitor()
    const first = await visit(page)
    if (first.status !== 302) throw new Error(`${first.status} ${first.text} ${await apache.log()}`)
    const back = await visit(await authorize(tab, first.headers.get('location') ?? ''))
    expect([first.status, back.status, back.headers.get('location')]).toEqual([302, 302, page])
    return visit
  }

  const stranger = await enter(await latchkey.signedUp('stranger'))
  expect((await stranger(page)).status).toBe(401)

  const tab = await latchkey.signedUp('member')
  await joinStaff(tab)
  const member = await enter(tab)
  const seen = await member(page)
  expect([seen.status, seen.text]).toEqual([200, 'for members'])
  expect(seen.headers.get('x-seen-email')).toBe('member@example.com')

  await tab.act('/api/auth/logout')
  await until('Apache has ended its session', async () => (await member(page)).status === 302)
  expect((await stranger(page)).status).toBe(401)
  // Apache ends the session before it refuses the notice, so its answer counts.
  await until('the notice is delivered', async () => (await latchkey.app.rooms.logoutNotices.count()).waiting === 0)
  expect(await latchkey.sql.query('select message from application_errors where application_id = $1', [id])).toEqual([])

  // By the link on its own pages: it shows its ID token, so nothing is asked.
  await tab.post('/api/auth/login', { username: 'member', password: goodPassword })
  const again = await enter(tab)
  const left = await again(`${redirect}?logout=${encodeURIComponent(`${origin}/`)}`)
  const { searchParams } = new URL(left.headers.get('location') ?? '')
  expect(await endSession(tab, Object.fromEntries(searchParams))).toMatchObject({
    next: 'done',
    location: `${origin}/`,
  })
  expect((await again(page)).status).toBe(302)
  expect((await tab.get('/api/auth/me')).status).toBe(401)
})

it('Authlib signs in, checks the ID token, renews and revokes', async () => {
  const { application, issuer, redirectAddress, server } = await openidApplication(latchkey)
  const tab = await latchkey.signedUp('pythonist')
  const { id, secret } = application
  const script = fileURLToPath(new URL('authlib-client.py', import.meta.url))
  const run = async (step: Record<string, unknown>) => {
    const task = JSON.stringify({ id, secret, issuer, redirect: redirectAddress, ...step })
    const { stdout } = await promisify(execFile)(python, [script, task])
    return JSON.parse(stdout)
  }
  const { address, kept } = await run({ step: 'begin' })
  expect(address).toMatch(`${server.authorization_endpoint}?`)
  const done = await run({ step: 'finish', kept, location: await authorize(tab, address) })
  const user = { preferred_username: 'pythonist', email: 'pythonist@example.com', email_verified: true }
  expect(done).toMatchObject({ claims: user, userinfo: user, renewed: { ...user, nonce: null }, after: 401 })
})
