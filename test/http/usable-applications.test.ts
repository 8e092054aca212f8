import { afterAll, beforeAll, expect, it } from 'vitest'
import { iconFault } from '../../src/applications/icons.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const operator = { ip: 'command line', userAgent: 'test' }

/** One transparent pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==',
  'base64',
)

let latchkey: Latchkey
let tab: Browser
beforeAll(async () => {
  latchkey = await startLatchkey()
  tab = await latchkey.signedUp('ada')
  await latchkey.app.rooms.groups.add('family', operator)
})
afterAll(() => latchkey.stop())

it('a user sees the applications that they may open, with their icons', async () => {
  const wiki = await addApplication(latchkey, { name: 'Wiki', home: 'https://wiki.example.com/' })
  const closed = { access: 'groups', groups: ['family'] } as const
  await addApplication(latchkey, { name: 'Family', home: 'https://family.example.com/', ...closed })
  const native = { kind: 'native', home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'] } as const
  await addApplication(latchkey, { name: 'Television', ...native })
  await applicationChangesOf(latchkey).change(wiki.id, {}, operator, { icon: png })
  const { body } = await tab.get('/api/auth/applications')
  const icon = expect.stringMatching(`^/api/auth/application-icons/${wiki.id}\\?v=[0-9a-f]{16}$`)
  expect(body.usable).toEqual([{ id: wiki.id, name: 'Wiki', home: 'https://wiki.example.com/', icon }])
  const [usable] = body.usable as { icon: string }[]
  const picture = await fetch(latchkey.url + usable?.icon)
  expect(Buffer.from(await picture.arrayBuffer())).toEqual(png)
  expect(picture.headers.get('content-type')).toBe('image/png')
  expect(picture.headers.get('x-content-type-options')).toBe('nosniff')
  expect(picture.headers.get('content-security-policy')).toBe("default-src 'none'")
  expect(picture.headers.get('cache-control')).toContain('immutable')
  // Whoever is asked for consent sees it, too.
  const parameters = parametersFor(wiki.id, { redirect_uri: wiki.redirectAddresses[0] ?? '', prompt: 'consent' })
  const asked = await tab.post('/api/auth/authorization', { parameters })
  expect(asked.body).toMatchObject({ next: 'consent', icon: usable?.icon })
  await applicationChangesOf(latchkey).change(wiki.id, {}, operator, { icon: null })
  expect((await tab.get('/api/auth/applications')).body.usable).toMatchObject([{ name: 'Wiki', icon: null }])
  expect((await tab.get(`/api/auth/application-icons/${wiki.id}`)).status).toBe(404)
})

it('an icon is a whole PNG of a small size', () => {
  expect(iconFault(png)).toBeUndefined()
  expect(iconFault(png.subarray(0, -1))).toBe('no_png')
  expect(iconFault(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))).toBe('no_png')
  expect(iconFault(Buffer.alloc(0))).toBe('no_png')
  expect(iconFault(Buffer.concat([png, Buffer.alloc(32 * 1024)]))).toBe('too_large')
  const wide = Buffer.from(png)
  wide.writeUInt32BE(513, 16)
  expect(iconFault(wide)).toBe('too_wide')
})
