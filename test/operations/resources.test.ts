import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'

let latchkey: Latchkey
const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (...args: string[]) => run(store, args)
const add = (...args: string[]) => command('resource', 'add', ...args)
const json = async (...args: string[]) => JSON.parse((await command(...args, '--json')).out) as Record<string, unknown>
const address = 'https://mcp.example.com/mcp'

beforeAll(async () => {
  latchkey = await startLatchkey({
    settings: { JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO' },
  })
})
afterAll(() => latchkey.stop())

it('a resource is added, listed, shown, changed and deleted, each with its event', async () => {
  expect((await command('resource', 'list')).out).toContain('There are no resources')
  const given = ['--name', 'Wiki tools', '--scope', 'read', '--scope', 'write=Change pages', '--everyone']
  expect(await json('resource', 'add', 'HTTPS://mcp.example.com:443/mcp', ...given)).toEqual({
    id: expect.any(String),
    resource: address,
    scopes: ['read', 'write'],
  })
  expect((await command('resource', 'list')).out).toMatch(/Wiki tools +everyone +read write +https:\/\/mcp/)
  expect(await json('resource', 'show', address)).toMatchObject({
    name: 'Wiki tools',
    address,
    scopes: [
      { name: 'read', description: null },
      { name: 'write', description: 'Change pages' },
    ],
    algorithm: 'ES256',
    issuer: `${latchkey.config.publicUrl}/api/auth`,
  })
  await command('group', 'add', 'staff')
  const changed = await command('resource', 'change', 'wiki TOOLS', '--group', 'staff', '--algorithm', 'RS256')
  expect(changed.out).toContain('Changed Wiki tools: access, groups, algorithm.')
  expect((await command('group', 'delete', 'staff')).err).toContain(
    "The resource Wiki tools lets the group staff in. Change that first: latchkey resource change 'Wiki tools' --group ANOTHER",
  )
  expect(await command('resource', 'delete', 'Wiki tools')).toMatchObject({ code: 1 })
  expect(await json('resource', 'delete', 'Wiki tools', '--yes')).toMatchObject({ deleted: true })
  const events = await latchkey.sql.query<{ kind: string; reason: string }>(
    "select kind, reason from events where kind like 'resource_%' order by id",
  )
  expect(events.map(({ kind, reason }) => [kind, reason])).toEqual([
    ['resource_added', 'Wiki tools'],
    ['resource_changed', 'Wiki tools: access, groups, algorithm'],
    ['resource_deleted', 'Wiki tools'],
  ])
})

it.each([
  [['http://mcp.example.com/mcp'], /does not begin with https/],
  [[`${address}?a=b`], /has a query/],
  [[`${address}#a`], /has a fragment/],
  [['mcp'], /is no address/],
  [['https://mcp.example.com/%6dcp'], /has a % in its path/],
  [[`https://mcp.example.com/${'x'.repeat(500)}`], /longer than 500/],
  [[address, '--scope', 'openid'], /scope openid cannot be used/],
  [[address, '--scope', 'offline_access'], /scope offline_access cannot be used/],
  [[address, '--scope', 'a b'], /scope a b cannot be used/],
  [[address, '--scope', 'read', '--scope', 'read=Again'], /scope read cannot be used/],
  [[address, ...Array.from({ length: 21 }, (_, at) => ['--scope', `s${at}`]).flat()], /at most 20 scopes/],
])('a resource is refused, and nothing is written: %j', async (args, sentence) => {
  const { code, err } = await add(...args, '--name', 'Wiki tools', '--everyone')
  expect([code, err]).toEqual([1, expect.stringMatching(sentence)])
})

it('a resource needs a name, and who may use it, which must be a group that there is', async () => {
  expect((await add(address, '--everyone')).err).toContain('--name')
  expect((await add(address, '--name', 'Wiki tools')).err).toContain('--everyone')
  expect((await add(address, '--name', 'Wiki tools', '--group', 'nobody')).err).toContain('There is no group nobody')
  await add('https://api.example.com', '--name', 'Api', '--everyone')
  expect((await add('https://api.example.com/', '--name', 'Other', '--everyone')).err).toContain(
    'The resource Api has this address.',
  )
  expect((await add('https://other.example.com', '--name', 'api', '--everyone')).err).toContain(
    'Another resource has the name api.',
  )
  const change = await command('resource', 'change', 'Api', '--name', 'API')
  expect(change.code).toBe(0)
})

it('programs of documents are found by their addresses, and a name that they share says which', async () => {
  const documents = ['https://programs.example/a.json', 'https://programs.example/b.json']
  for (const document of documents)
    await latchkey.sql.query(
      `insert into applications
         (id, document, name, home, kind, redirect_addresses, access, consent, pkce, algorithm, device_flow, tokens, created_at)
       values (gen_random_uuid(), $1, 'Notes (programs.example)', 'https://programs.example', 'document', '{http://127.0.0.1/}',
         'everyone', 'ask', true, 'RS256', false, false, now())`,
      [document],
    )
  const { out } = await command('application', 'list')
  for (const document of documents) expect(out).toContain(document)
  const { code, err } = await command('application', 'show', 'Notes (programs.example)')
  expect([code, err]).toEqual([1, expect.stringContaining(`Name the address of its document: ${documents.join(', ')}`)])
  expect(await json('application', 'show', documents[1] ?? '')).toMatchObject({ document: documents[1] })
  await latchkey.sql.query("delete from applications where kind = 'document'")
})

it('an address of Latchkey itself is no resource, and one of an application on its host is', async () => {
  const { publicUrl } = latchkey.config
  for (const path of ['', '/', '/api/auth', '/api/service/users', '/.well-known/x'])
    expect((await add(`${publicUrl}${path}`, '--name', 'Own', '--everyone')).err).toContain(
      'is an address of Latchkey itself',
    )
  expect(await add(`${publicUrl}/mcp`, '--name', 'Shared', '--everyone')).toMatchObject({ code: 0 })
})
