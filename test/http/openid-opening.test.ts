import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { seconds } from '../../src/lib/durations.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { whileAway } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey.stop())

const discovery = 'GET /api/auth/.well-known/openid-configuration'
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }

/** Every address of the provider, with something that it takes. */
const addresses: Record<string, { headers?: Record<string, string>; payload?: string }> = {
  [discovery]: {},
  'GET /api/auth/keys': {},
  'GET /api/auth/authorize': {},
  'POST /api/auth/authorize': { headers: form, payload: 'a=b' },
  'POST /api/auth/authorization': { headers: json, payload: '{"parameters":"a=b"}' },
  'POST /api/auth/token': { headers: form, payload: 'a=b' },
  'OPTIONS /api/auth/token': {},
  'POST /api/auth/revoke': { headers: form, payload: 'a=b' },
  'OPTIONS /api/auth/revoke': {},
  'OPTIONS /api/auth/.well-known/openid-configuration': {},
  'GET /.well-known/oauth-authorization-server/api/auth': {},
  'OPTIONS /.well-known/oauth-authorization-server/api/auth': {},
  'GET /api/auth/userinfo': {},
  'POST /api/auth/userinfo': { headers: form, payload: 'a=b' },
  'OPTIONS /api/auth/userinfo': {},
  'GET /api/auth/device': {},
  'POST /api/auth/device': { headers: form, payload: 'a=b' },
  'OPTIONS /api/auth/device': {},
  'GET /api/auth/end-session': {},
  'POST /api/auth/end-session': { headers: form, payload: 'a=b' },
}

const statusOf = async (address: string, { headers = {}, payload }: { headers?: object; payload?: string } = {}) => {
  const [method = '', url = ''] = address.split(' ')
  const own = { host: new URL(latchkey.url).host, origin: latchkey.url, 'sec-fetch-site': 'same-origin' }
  const sent = { method: method as 'GET', url, headers: { ...own, ...headers } }
  return (await latchkey.app.server.inject({ ...sent, ...(payload !== undefined && { payload }) })).statusCode
}

/** How many addresses answer 404. The first request makes the service ask the database; others beside it would not wait for that. */
const unknown = async () => {
  await statusOf(discovery)
  const statuses = await Promise.all(Object.entries(addresses).map(([address, sent]) => statusOf(address, sent)))
  return statuses.filter((status) => status === 404).length
}

const remove = (id: string) => applicationChangesOf(latchkey).delete(id, operatorClient('root'))
const all = Object.keys(addresses).length

it('without an application every address of the provider is unknown; the first one opens them and the last one closes them', async () => {
  expect(await unknown()).toBe(all)
  const { id } = await addApplication(latchkey)
  const other = await addApplication(latchkey, { name: 'Other' })
  await latchkey.advance(1 * seconds)
  expect(await unknown()).toBe(0)
  await remove(id)
  await latchkey.advance(1 * seconds)
  expect(await unknown()).toBe(0)
  await remove(other.id)
  await latchkey.advance(1 * seconds)
  expect(await unknown()).toBe(all)
  // While the service cannot know whether there is an application, the answer is 503 and not 404.
  await latchkey.advance(1 * seconds)
  await whileAway(latchkey.config.databaseUrl, async () => expect(await statusOf(discovery)).toBe(503))
  await until('the database is back', async () => (await statusOf(discovery)) === 404)
  await addApplication(latchkey, { name: 'Third' })
  await latchkey.advance(1 * seconds)
  expect(await unknown()).toBe(0)
})

it('the walk above misses no address of the provider', () => {
  const isOfProvider =
    /^\/api\/auth\/(?:.*\/)?(authorize|authorization|token|revoke|userinfo|device|end-session|keys|openid-configuration)$|oauth-authorization-server/
  const registered = latchkey.app.routes
    .list()
    .filter(({ method, url }) => method !== 'HEAD' && isOfProvider.test(url))
    .map(({ method, url }) => `${method} ${url}`)
  expect(Object.keys(addresses).toSorted()).toEqual(registered.toSorted())
})
