import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { until } from '../support/until.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let latchkey: Latchkey
const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (...args: string[]) => run(store, args)

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret } })
})
afterAll(() => latchkey.stop())

it('groups are made, listed, given to users and deleted', async () => {
  const tab = await latchkey.signedUp('ada')
  expect((await command('group', 'list')).out).toBe('There are no groups.\n')
  expect(await command('group', 'add', 'Admins')).toMatchObject({
    code: 2,
    err: expect.stringContaining('small letters'),
  })
  expect((await command('group', 'add', 'admins')).out).toBe('Made the group admins.\n')
  expect((await command('group', 'add', 'admins')).out).toBe('The group admins is there already, with 0 members.\n')
  await command('group', 'add', 'staff')
  expect((await command('user', 'groups', 'ada')).out).toBe('ada is in no group.\n')
  expect(await command('user', 'groups', 'ada', '--add', 'guests')).toMatchObject({
    code: 1,
    err: expect.stringContaining('latchkey group add guests'),
  })
  const twoWays = await command('user', 'groups', 'ada', '--add', 'staff', '--remove', 'staff')
  expect(twoWays).toMatchObject({ code: 1, err: expect.stringContaining('the same group') })
  const joined = await command('user', 'groups', 'ada', '--add', 'staff', '--add', 'admins', '--json')
  expect(JSON.parse(joined.out)).toMatchObject({ username: 'ada', groups: ['admins', 'staff'], changed: true })
  // Another process has changed them, so this one reads it within a second.
  await until('the group counts', async () => (await tab.get('/api/auth/verify?group=staff&renew=1')).status === 204)

  expect((await command('group', 'list')).out).toMatch(/^NAME +MEMBERS +CREATED\nadmins +1 +\S+\nstaff +1 +\S+\n$/)
  expect((await command('group', 'members', 'staff', '--json')).out).toContain('"username":"ada"')
  expect((await command('user', 'list', '--group', 'staff', '--disabled')).out).toBe('No user matches.\n')
  for (const mistyped of [
    ['user', 'list', '--group', 'stuff'],
    ['group', 'members', 'stuff', '--json'],
    ['user', 'groups', 'ada', '--remove', 'admins,stuff'],
  ]) {
    const refused = await command(...mistyped)
    expect(refused, mistyped.join(' ')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^There is no group stuff\. /),
    })
  }
  expect((await command('user', 'show', 'ada')).out).toMatch(/^groups +admins, staff$/m)

  expect(await command('group', 'delete', 'staff')).toMatchObject({ code: 1, err: expect.stringContaining('--yes') })
  expect((await command('group', 'delete', 'staff', '--yes')).out).toBe('Deleted the group staff; it had 1 member.\n')
  expect(await command('group', 'delete', 'staff')).toMatchObject({ code: 1, err: 'There is no group staff.\n' })
  expect((await command('user', 'groups', 'ada')).out).toBe('ada is in admins.\n')
  const recorded = await latchkey.sql.query("select kind, reason, ip from events where kind like 'group_%' order by id")
  expect(recorded.map((event) => Object.values(event))).toEqual([
    ['group_added', 'admins', 'command line'],
    ['group_added', 'staff', 'command line'],
    ['group_joined', 'admins,staff', 'command line'],
    ['group_left', 'staff', 'command line'],
    ['group_deleted', 'staff', 'command line'],
  ])
})

it('groups are given where tokens are signed by a key pair, too', async () => {
  await command('group', 'add', 'pilots')
  const config = { ...latchkey.config, accessTokenAlgorithm: 'ES256' as const }
  const elsewhere = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(config, role) }
  expect(await run(elsewhere, ['user', 'groups', 'ada', '--add', 'pilots,admins'])).toMatchObject({
    code: 0,
    out: 'ada is in admins, pilots.\n',
  })
  await command('group', 'delete', 'pilots', '--yes')
})

it('groups are in an invitation, in an export, and in an import that makes them', async () => {
  await command('group', 'add', 'staff')
  expect(await command('invite', 'ben@example.com', '--group', 'guests')).toMatchObject({
    code: 1,
    err: expect.stringContaining('latchkey group add guests'),
  })
  expect((await command('invite', 'ben@example.com', '--group', 'staff')).code).toBe(0)
  expect((await command('invite', '--list')).out).toContain('staff')
  const tab = await latchkey.registered('ben')
  const { out } = await command('user', 'export', '--format', 'csv')
  expect(out).toMatch(/^id,.*,groups,created_at,disabled\r?\n/)
  expect(out).toMatch(/^.*,ben,.*,staff,.*$/m)

  const rows = ['cam@example.com,"staff, sailors"', 'dan@example.com,Staff', 'eve@example.com,']
  const imported = await run(store, ['user', 'import', '-'], { input: `email,groups\n${rows.join('\n')}\n` })
  expect(imported).toMatchObject({ code: 1, err: expect.stringContaining('line 3: groups must be') })
  expect(imported.out).toContain('Groups: sailors, staff.\nMade the groups sailors.')
  const asJson = '{"email":"fay@example.com","groups":["sailors"]}'
  expect((await run(store, ['user', 'import', '-'], { input: asJson })).code).toBe(0)
  expect((await command('group', 'list')).out).toMatch(/^sailors +2/m)
  expect((await command('user', 'groups', 'cam')).out).toBe('cam is in sailors, staff.\n')
  // Nobody's tokens are made invalid by it.
  const again = await run(store, ['user', 'import', '-'], { input: 'email,groups\nben@example.com,"staff, sailors"\n' })
  expect(again).toMatchObject({ code: 0, out: expect.stringContaining('1 existed already') })
  const replaced = `select 1 from sessions as r join users as u on u.id = r.user_id
    where username = 'ben' and oldest_generation > generation`
  expect(await latchkey.sql.query(replaced)).toEqual([])
  expect((await tab.get('/api/auth/verify?group=staff')).headers.get('x-auth-groups')).toBe('staff')
})
