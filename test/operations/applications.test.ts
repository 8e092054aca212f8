import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApplicationSecrets } from '../../src/applications/applications.js'
import { checkApplications } from '../../src/commands/doctor/applications.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import { minutes } from '../../src/lib/durations.js'
import { createOpenidProvider } from '../../src/openid/openid-door.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { createStoppedClock } from '../support/clock.js'
import { testPostgres } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { addApplication as insertApplication, useApplication } from '../support/used-applications.js'
import { untilBlocked } from '../support/waits-for-lock.js'

type Secrets = ReturnType<typeof createApplicationSecrets>
const isRight = async ({ findOwnerOf }: Secrets, id: string, secret: string) =>
  (await findOwnerOf(id))?.isRight(secret) ?? false

let latchkey: Latchkey
const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (...args: string[]) => run(store, args)
const add = (...args: string[]) => command('application', 'add', ...args)
const shown = async (name: string) => JSON.parse((await command('application', 'show', name, '--json')).out)
const eventsOf = async () => {
  const events = await latchkey.sql.query(
    "select kind, reason, ip from events where kind like 'application_%' order by id",
  )
  return events.map((event) => Object.values(event))
}

const redirect = ['--redirect', 'https://wiki.example.com/callback']

beforeAll(async () => {
  latchkey = await startLatchkey({
    settings: { JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO' },
  })
})
afterAll(() => latchkey.stop())

it('nothing of the provider is opened before there is an application; then the running service opens it', async () => {
  const clock = createStoppedClock()
  const openidProvider = createOpenidProvider(latchkey.config, { ...latchkey.app.platform, clock }, latchkey.app.rooms)
  expect(await openidProvider.open()).toBeUndefined()
  expect((await command('application', 'list')).out).toContain('There are no applications')
  await add('First', ...redirect, '--everyone')
  // The database is asked once a second at most.
  expect(await openidProvider.open()).toBeUndefined()
  clock.advance(1_000)
  const opened = await openidProvider.open()
  expect((await opened?.applications.list())?.map(({ name }) => name)).toEqual(['First'])
  expect(await openidProvider.open()).toBe(opened)
  await command('application', 'delete', 'First')
})

it('an application is added with an id, a secret that is shown once, and what to paste', async () => {
  const added = await add('Wiki', ...redirect, '--everyone')
  expect(added).toMatchObject({ code: 0, err: '' })
  const [, secret = ''] = /^client_secret +([\w-]{43})$/m.exec(added.out) ?? []
  const [, id = ''] = /^client_id +(\S+)$/m.exec(added.out) ?? []
  expect(added.out).toContain(`${latchkey.url}/api/auth/.well-known/openid-configuration`)
  expect(await shown('wiki')).toMatchObject({
    id,
    name: 'Wiki',
    home: 'https://wiki.example.com',
    kind: 'web',
    redirectAddresses: ['https://wiki.example.com/callback'],
    access: 'everyone',
    groups: [],
    factors: 1,
    consent: 'none',
    pkce: true,
    algorithm: 'RS256',
    issuer: `${latchkey.url}/api/auth`,
  })
  const secrets = createApplicationSecrets({ database: latchkey.sql, clock: latchkey.clock })
  expect(await isRight(secrets, id, secret)).toBe(true)
  expect(await isRight(secrets, id, `${secret}x`)).toBe(false)
  expect(await isRight(secrets, 'another', secret)).toBe(false)
  const everything = await latchkey.sql.query<{ row: string }>('select s::text as row from application_secrets as s')
  expect(JSON.stringify(everything)).not.toContain(secret)
  await command('application', 'delete', id)
})

it('every option is stored', async () => {
  await command('group', 'add', 'staff')
  const { code, out } = await add(
    ...['Books', ...redirect, '--redirect', 'https://books.example.com/callback', '--group', 'staff'],
    ...['--home', 'https://books.example.com/start', '--after-logout', 'https://books.example.com/bye'],
    ...['--backchannel-logout', 'https://books.example.com/logout', '--consent', 'ask', '--factors', '2'],
    ...['--max-age', '10m', '--no-pkce', '--algorithm', 'ES256', '--json'],
  )
  expect(code).toBe(0)
  expect(JSON.parse(out)).toEqual({
    id: expect.any(String),
    secret: expect.stringMatching(/^[\w-]{43}$/),
    issuer: `${latchkey.url}/api/auth`,
  })
  expect(await shown('Books')).toMatchObject({
    home: 'https://books.example.com/start',
    redirectAddresses: ['https://wiki.example.com/callback', 'https://books.example.com/callback'],
    logoutAddresses: ['https://books.example.com/bye'],
    backchannelLogout: 'https://books.example.com/logout',
    access: 'groups',
    groups: ['staff'],
    factors: 2,
    maxAge: 600_000,
    consent: 'ask',
    pkce: false,
    algorithm: 'ES256',
  })
  await command('application', 'delete', 'Books')
  await command('group', 'delete', 'staff')
})

it.each([
  [[], 'NAME is missing'],
  [['Wrong', '--everyone'], 'Give --redirect'],
  [['Wrong', ...redirect], '--everyone, or --group'],
  [['Wrong', ...redirect, '--everyone', '--group', 'staff'], 'not both'],
  [['Wrong', ...redirect, '--everyone', '--public', '--native'], 'not both'],
  [['Wrong', ...redirect, '--group', 'Staff'], 'small letters'],
  [['Wrong', ...redirect, '--everyone', '--factors', '3'], '--factors takes 1 or 2'],
  [['Wrong', ...redirect, '--everyone', '--consent', 'yes'], '--consent takes ask or none'],
  [['Wrong', ...redirect, '--everyone', '--max-age', '10'], '--max-age takes'],
  [['Wrong', ...redirect, '--everyone', '--algorithm', 'HS256'], '--algorithm takes RS256 or ES256'],
  [['Wrong', ...redirect, '--everyone', '--device'], '--device and --no-device are for --native'],
  [['Wrong', ...redirect, '--everyone', '--public', '--no-device'], '--device and --no-device are for --native'],
  [['Wrong', '--everyone', '--for', 'jenkins'], '--for takes grafana or gitea or nextcloud'],
  [['Wrong', '--everyone', '--for', 'grafana'], '--home https://grafana.example.com'],
  [['Wrong', '--everyone', '--for', 'grafana', '--home', 'https://g.example.com', '--public'], 'leave out --public'],
])('application add %j is a wrong call', async (args, sentence) => {
  expect(await add(...args)).toMatchObject({ code: 2, err: expect.stringContaining(sentence) })
})

it.each([
  [['Wrong', ...redirect, '--group', 'nobodies'], 'latchkey group add nobodies\n'],
  [['Wrong', '--redirect', 'http://wiki.example.com/', '--everyone'], 'does not begin with https://'],
  [['Wrong', '--redirect', 'wiki', '--everyone'], 'is no address'],
  [['Wrong', ...redirect, '--everyone', '--home', 'javascript:alert(1)'], 'does not begin with https://'],
  [['Wrong', ...redirect, '--everyone', '--after-logout', 'https://a.example/#x'], 'has a fragment'],
  [['Wrong', ...redirect, '--everyone', '--backchannel-logout', 'http://a.example/'], 'does not begin with https://'],
  [['Wrong', '--redirect', 'http://wiki.example.com/', '--everyone', '--native'], 'scheme with a dot'],
  [['Wrong', ...redirect, '--everyone', '--public', '--no-pkce'], 'always needs PKCE'],
  [['Wrong', '--redirect', 'http://127.0.0.1/', '--everyone', '--native', '--consent', 'none'], 'always asks'],
  [['\u202eWrong', ...redirect, '--everyone'], 'A name has 1 to 60 characters'],
  [['x'.repeat(61), ...redirect, '--everyone'], 'A name has 1 to 60 characters'],
])('application add %j is refused and leaves nothing', async (args, sentence) => {
  const refused = await add(...args)
  expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining(sentence) })
  expect(refused.err).toMatch(/^Nothing was changed\. /)
  expect((await command('application', 'list')).out).not.toContain('Wrong')
})

it('a public and a native application have no secret', async () => {
  const page = await add('Page', '--redirect', 'https://page.example.com/', '--everyone', '--public', '--json')
  expect(JSON.parse(page.out)).toMatchObject({ secret: null })
  const native = await add('Tool', '--redirect', 'com.example.tool:/callback', '--everyone', '--native')
  expect(native.out).not.toContain('secret')
  expect(await shown('Tool')).toMatchObject({ kind: 'native', consent: 'ask', pkce: true, secrets: [] })
  expect(await command('application', 'secret', 'add', 'Tool')).toMatchObject({
    code: 1,
    err: expect.stringContaining('kind web'),
  })
  for (const name of ['Page', 'Tool']) await command('application', 'delete', name)
})

it('devices may sign in with a native application only if somebody says so', async () => {
  const native = ['--redirect', 'com.example.tool:/callback', '--everyone', '--native']
  const flowOf = async (name: string) => (await shown(name)).deviceFlow
  const devices = async (name: string) => /^devices +(.*)$/m.exec((await command('application', 'show', name)).out)?.[1]
  const change = (...args: string[]) => command('application', 'change', 'Tool', ...args)
  await add('Tool', ...native)
  expect([await flowOf('Tool'), await devices('Tool')]).toEqual([false, 'may not sign in'])
  expect((await change('--device')).out).toBe('Changed Tool: device flow.\n')
  expect([await flowOf('Tool'), await devices('Tool')]).toEqual([true, 'may sign in'])
  expect((await change('--name', 'Tool')).out).toBe('Tool is like this already.\n')
  expect((await change('--no-device')).out).toBe('Changed Tool: device flow.\n')
  expect(await flowOf('Tool')).toBe(false)
  await add('Lamp', ...native, '--device')
  await add('Radio', ...native, '--no-device')
  expect([await flowOf('Lamp'), await flowOf('Radio')]).toEqual([true, false])

  expect(await change('--device', '--no-device')).toMatchObject({ code: 2, err: expect.stringContaining('not both') })
  const both = await add('Wrong', ...native, '--device', '--no-device')
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining('not both') })
  await add('Site', ...redirect, '--everyone')
  const site = await command('application', 'change', 'Site', '--device')
  expect(site).toMatchObject({ code: 1, err: expect.stringContaining('Only an application of the kind native') })
  // As it was stored while every native application had the flow.
  await latchkey.sql.query("update applications set device_flow = true where name = 'Site'")
  expect(await flowOf('Site')).toBe(false)
  expect((await command('application', 'change', 'Site', '--factors', '2')).code).toBe(0)
  for (const name of ['Tool', 'Lamp', 'Radio', 'Site']) await command('application', 'delete', name)
})

it.each<[string, { redirect: string; logout: string[]; backchannel?: string }, boolean, string]>([
  [
    'grafana',
    { redirect: '/login/generic_oauth', logout: ['/login'] },
    true,
    '&post_logout_redirect_uri=https%3A%2F%2Fgrafana.example.com%2Flogin\n',
  ],
  ['gitea', { redirect: '/user/oauth2/latchkey/callback', logout: ['/'] }, false, '--auto-discover-url '],
  [
    'nextcloud',
    { redirect: '/apps/user_oidc/code', logout: [], backchannel: '/apps/user_oidc/backchannel-logout/latchkey' },
    true,
    '--discoveryuri=',
  ],
])('%s gets its addresses and settings', async (program, paths, pkce, setting) => {
  const home = `https://${program}.example.com`
  const { code, out } = await add(program, '--for', program, '--home', `${home}/`, '--everyone')
  expect(code).toBe(0)
  expect(out).toContain(setting)
  expect(out).toContain('by sub')
  const application = await shown(program)
  expect(application).toMatchObject({
    home,
    redirectAddresses: [home + paths.redirect],
    logoutAddresses: paths.logout.map((path) => home + path),
    pkce,
  })
  expect(application.backchannelLogout).toBe(paths.backchannel === undefined ? undefined : home + paths.backchannel)
  await command('application', 'delete', program)
})

it('an application is changed, and only what is named', async () => {
  await command('group', 'add', 'editors')
  const { id } = await addApplication(latchkey, { name: 'Docs', backchannelLogout: 'https://docs.example.com/logout' })
  const before = await shown('Docs')
  const changed = await command('application', 'change', 'docs', '--group', 'editors', '--max-age', '8h')
  expect(changed.out).toBe('Changed Docs: access, groups, max age.\n')
  expect(await shown(id)).toEqual({ ...before, access: 'groups', groups: ['editors'], maxAge: 8 * 60 * minutes })
  expect((await command('application', 'change', 'Docs', '--group', 'editors')).out).toBe(
    'Docs is like this already.\n',
  )
  await command('application', 'change', 'Docs', '--everyone', '--max-age', 'none', '--backchannel-logout', 'none')
  const { backchannelLogout: _, ...rest } = before
  expect(await shown('Docs')).toEqual(rest)
  expect((await command('application', 'change', 'Docs', '--name', 'Papers')).out).toBe('Changed Papers: name.\n')
  await addApplication(latchkey, { name: 'Docs' })
  expect(await command('application', 'change', 'Papers', '--name', 'docs')).toMatchObject({
    code: 1,
    err: expect.stringContaining('Another application has this name'),
  })
  expect(await add('PAPERS', ...redirect, '--everyone')).toMatchObject({ code: 1 })
  expect(await command('application', 'change', 'Papers')).toMatchObject({ code: 2 })
  expect(await command('application', 'change', 'Papers', '--no-pkce', '--pkce')).toMatchObject({ code: 2 })
  expect(await command('application', 'change', 'nothing', '--everyone')).toMatchObject({ code: 1 })
  for (const name of ['Docs', 'Papers']) await command('application', 'delete', name)
  expect((await eventsOf()).filter(([, reason]) => String(reason).startsWith('Docs'))).toEqual([
    ['application_added', 'Docs', 'command line'],
    ['application_changed', 'Docs: access, groups, max_age', 'command line'],
    ['application_changed', 'Docs: backchannel_logout, access, groups, max_age', 'command line'],
    ['application_changed', 'Docs: name', 'command line'],
    ['application_added', 'Docs', 'command line'],
    ['application_deleted', 'Docs', 'command line'],
  ])
})

it('a home that was not named follows the redirect addresses, and one that was named stays', async () => {
  await add('Moving', ...redirect, '--everyone')
  const move = (...args: string[]) => command('application', 'change', 'Moving', ...args)
  const moved = await move('--redirect', 'https://docs.example.com/callback', ...redirect)
  expect(moved.out).toBe('Changed Moving: home, redirect addresses.\n')
  expect(await shown('Moving')).toMatchObject({ home: 'https://docs.example.com' })
  await move('--home', 'https://docs.example.com/start')
  await move(...redirect)
  expect(await shown('Moving')).toMatchObject({ home: 'https://docs.example.com/start' })
  await command('application', 'delete', 'Moving')
})

it('a secret is replaced while both work', async () => {
  const { id, secret: first } = await addApplication(latchkey, { name: 'Our Mail' })
  const secrets = createApplicationSecrets({ database: latchkey.sql, clock: latchkey.clock })
  expect(await command('application', 'secret', 'remove', 'our mail')).toMatchObject({
    code: 1,
    err: "Nothing was changed. This is the only secret of Our Mail. Add another one first: latchkey application secret add 'Our Mail'\n",
  })
  expect((await command('application', 'secret', 'remove', 'Our Mail', id)).err).toMatch(
    /has no such secret\. See: latchkey application show 'Our Mail'\n$/,
  )
  const { secret: second } = JSON.parse((await command('application', 'secret', 'add', 'Our Mail', '--json')).out)
  expect([await isRight(secrets, id, first), await isRight(secrets, id, second)]).toEqual([true, true])
  expect(await command('application', 'secret', 'add', id)).toMatchObject({
    code: 1,
    err: "Nothing was changed. Our Mail has 2 secrets already. Remove the older one first: latchkey application secret remove 'Our Mail'\n",
  })
  expect((await command('application', 'secret', 'remove', 'Our Mail')).code).toBe(0)
  expect([await isRight(secrets, id, first), await isRight(secrets, id, second)]).toEqual([false, true])
  await command('application', 'delete', 'Our Mail')
  expect(await isRight(secrets, id, second)).toBe(false)
})

it('a group that an application lets in cannot be deleted, also if both happen at once', async () => {
  await command('group', 'add', 'writers')
  const { id } = await addApplication(latchkey, { name: 'Press' })
  const changes = applicationChangesOf(latchkey)
  const client = { ip: 'command line', userAgent: 'test' }
  const { groups } = latchkey.app.rooms
  let removal: ReturnType<typeof groups.remove> | undefined
  const other = testPostgres(String(latchkey.config.databaseUrl), { statementTimeoutMs: 120_000 })
  await other.transaction(async (sql) => {
    await groups.hold(sql, ['writers'])
    removal = groups.remove('writers', client)
    await untilBlocked(latchkey.sql)
    await sql.query("update applications set access = 'groups', groups = '{writers}' where id = $1", [id])
  })
  await other.close()
  expect(await removal).toMatchObject({ refused: 'group_in_use', uses: [{ kind: 'application', name: 'Press' }] })
  expect(await command('group', 'delete', 'writers', '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('The application Press lets the group writers in.'),
  })
  await addApplication(latchkey, { name: 'Archive', access: 'groups', groups: ['writers'] })
  const { err } = await command('group', 'delete', 'writers', '--yes')
  expect(err).toContain('The applications Archive, Press let the group writers in.')
  await command('application', 'delete', 'Archive')
  await changes.change(id, { access: 'everyone', groups: [] }, client)
  expect((await command('group', 'delete', 'writers')).code).toBe(0)
  expect(await changes.change(id, { access: 'groups', groups: ['writers'] }, client)).toMatchObject({
    refused: 'no_group',
  })
  await command('application', 'delete', 'Press')
})

it('who loses the right by a change of the application loses its use, and the application is told', async () => {
  await latchkey.signedUp('ada')
  await latchkey.signedUp('ben')
  await command('group', 'add', 'pilots')
  await command('user', 'groups', 'ada', '--add', 'pilots')
  const { id } = await addApplication(latchkey, {
    name: 'Flights',
    backchannelLogout: 'https://flights.example.com/bye',
  })
  await latchkey.sql.query(
    `insert into application_sessions (id, sid, application_id, user_id, scopes, created_at, last_used_at)
     select gen_random_uuid(), r.id, $1, r.user_id, '{openid}', now(), now() from sessions as r`,
    [id],
  )
  await command('application', 'change', 'Flights', '--group', 'pilots')
  const left = await latchkey.sql.query(
    'select username from application_sessions as s join users as u on u.id = s.user_id where application_id = $1',
    [id],
  )
  expect(left).toEqual([{ username: 'ada' }])
  const told = await latchkey.sql.query(
    'select username from logout_notices as n join users as u on u.id = n.user_id where application_id = $1',
    [id],
  )
  expect(told).toEqual([{ username: 'ben' }])
  expect((await eventsOf()).at(-1)).toEqual(['application_changed', 'Flights: access, groups', 'command line'])
  expect((await eventsOf()).at(-2)).toEqual(['application_access_ended', 'Flights', 'command line'])
  const { out: disabled } = await command('user', 'disable', 'ben')
  expect(disabled).toBe('Disabled ben; ended 1 session. 1 application has not been told yet: Flights.\n')
  const { out: ofBen } = await command('user', 'show', 'ben')
  expect(ofBen).toMatch(/^not told of logout +Flights, tried again: latchkey application show Flights$/m)
  expect(await command('application', 'delete', 'Flights')).toMatchObject({
    code: 1,
    err: 'Nothing was changed. 1 user would lose Flights. Add --yes to delete it.\n',
  })
  expect((await command('application', 'delete', 'Flights', '--yes')).out).toBe('Deleted Flights.\n')
})

it('who is disabled or locked down may still be signed in to an application that cannot be told', async () => {
  const ids = await Promise.all(
    ['Blog', 'Notes'].map((name) =>
      insertApplication(latchkey.sql, name === 'Blog' ? { name, backchannel: null } : { name }),
    ),
  )
  const leave = async (username: string, change: string, ...args: string[]) => {
    const tab = await latchkey.signedUp(username)
    for (const id of ids) await useApplication(latchkey.sql, tab, id)
    return (await command('user', change, username, ...args)).out
  }
  const deaf = '1 application cannot be told (no --backchannel-logout), so the user may still be signed in there: Blog.'
  const notYet = '1 application has not been told yet: Notes.'
  expect(await leave('friend', 'disable')).toBe(`Disabled friend; ended 1 session. ${notYet} ${deaf}\n`)
  expect(await leave('thief', 'lock-down')).toBe(`Locked thief down; ended 1 session. ${notYet} ${deaf}\n`)
  expect(JSON.parse(await leave('guest', 'disable', '--json'))).toMatchObject({
    applicationsNotTold: [{ name: 'Notes' }],
    applicationsNeverTold: [{ name: 'Blog' }],
  })
  // A program of the user ends with its session.
  await latchkey.sql.query("update applications set kind = 'native' where id = $1", [ids[0]])
  expect(await leave('ally', 'disable')).toBe(`Disabled ally; ended 1 session. ${notYet}\n`)
  for (const id of ids) await command('application', 'delete', id, '--yes')
})

it('an address for logout notices that gets none is named at once, and in doctor', async () => {
  const live = { ...latchkey.config, production: true }
  const at = (config: typeof live) => ({
    openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(config, role),
  })
  const home = (host: string) => ['--backchannel-logout', `https://${host}/logout`]
  const warning =
    '10.1.2.3 of --backchannel-logout has no public address, so no logout notice is sent there: set BACKCHANNEL_ALLOW_PRIVATE=true if that is meant'
  const added = await run(at(live), ['application', 'add', 'Cellar', ...redirect, '--everyone', ...home('10.1.2.3')])
  expect(added).toMatchObject({ code: 0, err: `${warning}.\n` })
  expect((await checkApplications(latchkey.sql, live)).says).toContain(`Cellar: ${warning}`)
  const change = (...args: string[]) => run(at(live), ['application', 'change', 'Cellar', ...args])
  expect((await change(...home('localhost'))).err).toContain('localhost of --backchannel-logout has no public address')
  // A public address, a host that is not known here, no address, and another change: nothing to say.
  for (const args of [
    home('192.0.43.7'),
    home('nowhere.invalid'),
    ['--backchannel-logout', 'none'],
    ['--factors', '2'],
  ])
    expect([args, await change(...args)]).toEqual([args, expect.objectContaining({ code: 0, err: '' })])
  const allowed = { ...live, backchannelAllowPrivate: 'true' as const }
  const again = await run(at(allowed), ['application', 'change', 'Cellar', ...home('10.1.2.3')])
  expect(again).toMatchObject({ code: 0, err: '' })
  await command('application', 'delete', 'Cellar')
})

it('doctor checks the registered addresses', async () => {
  const { sql, config } = latchkey
  expect(await checkApplications(sql, config)).toEqual({ level: 'ok', says: 'there are none' })
  const { id } = await addApplication(latchkey, {
    name: 'Here',
    home: 'http://localhost:8080',
    redirectAddresses: ['http://127.0.0.1:8080/callback'],
    backchannelLogout: 'http://127.0.0.1:8080/logout',
  })
  expect(await checkApplications(sql, config)).toEqual({
    level: 'ok',
    says: '1 application, whose addresses can be used',
  })
  const beside = { ...config, publicUrl: 'https://wiki.example.com:8443' }
  const ownHost = 'https://wiki.example.com/callback is on the host of Latchkey itself'
  const besideStore = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(beside, role) }
  const warned = await run(besideStore, ['application', 'add', 'Beside', ...redirect, '--everyone', '--json'])
  expect(warned).toMatchObject({ code: 0, err: expect.stringContaining(ownHost) })
  expect(await checkApplications(sql, beside)).toMatchObject({
    level: 'warning',
    says: expect.stringContaining(`Beside: ${ownHost}`),
  })
  await command('application', 'delete', 'Beside')
  const live = { ...config, production: true }
  expect(await checkApplications(sql, live)).toMatchObject({
    level: 'error',
    says: expect.stringContaining('Here: http://127.0.0.1:8080/callback does not begin with https://'),
  })
  await sql.query("update applications set backchannel_logout = 'https://127.0.0.1/' where id = $1", [id])
  expect((await checkApplications(sql, live)).says).toContain('set BACKCHANNEL_ALLOW_PRIVATE=true')
  const allowed = { ...live, backchannelAllowPrivate: 'true' as const }
  expect((await checkApplications(sql, allowed)).says).not.toContain('BACKCHANNEL_ALLOW_PRIVATE')
  await sql.query("update applications set home = 'https://nowhere.invalid' where id = $1", [id])
  expect((await checkApplications(sql, config)).says).toContain('the host nowhere.invalid is not known')
  await command('application', 'delete', 'Here')
})

it('takes an icon, and refuses what is none before anything is changed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-icon-'))
  try {
    const [good, bad] = [join(folder, 'good.png'), join(folder, 'bad.png')]
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=='
    await writeFile(good, Buffer.from(pixel, 'base64'))
    await writeFile(bad, 'hello')
    const address = ['--redirect', 'https://pictured.example.com/callback', '--everyone']
    expect((await add('Pictured', ...address, '--icon', bad)).err).toContain('is no whole PNG')
    expect((await add('Pictured', ...address, '--icon', join(folder, 'none.png'))).err).toContain('cannot be read')
    expect((await add('Pictured', ...address, '--icon', good)).code).toBe(0)
    const icons = async () => (await latchkey.sql.query('select 1 from application_icons')).length
    expect(await icons()).toBe(1)
    expect((await command('application', 'change', 'Pictured', '--icon', 'none')).out).toContain('icon removed')
    expect(await icons()).toBe(0)
  } finally {
    await rm(folder, { recursive: true })
  }
})
