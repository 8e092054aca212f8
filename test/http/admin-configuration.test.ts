import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminApplication, type AdminEvent, type AdminSetting, adminPath } from '#contract/admin/admin-bodies.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { minutes } from '../../src/lib/durations.js'
import { signedUpInGroup } from '../support/administrators.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { useApplication } from '../support/used-applications.js'

type Administrator = Awaited<ReturnType<typeof signedUpInGroup>>
let latchkey: Latchkey
let ada: Administrator
let ben: Administrator
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-admin-'))
  latchkey = await startLatchkey({
    settings: { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk', SECOND_FACTOR: 'optional' },
  })
  ada = await signedUpInGroup(latchkey, 'ada', 'admins')
  ben = await signedUpInGroup(latchkey, 'ben', 'admins')
  await ada.prove()
})
afterAll(async () => {
  await latchkey.stop()
  await rm(folder, { recursive: true })
})

const send = ({ tab }: Administrator, method: string, path: string, body?: object, version?: string) =>
  tab.send(method, `${adminPath}${path}`, body, {
    csrf: true,
    ...(version !== undefined && { headers: { 'if-match': `"${version}"` } }),
  })
const applications = async () =>
  (await ada.tab.get(`${adminPath}/applications`)).body.applications as AdminApplication[]
const named = async (name: string) => {
  const found = (await applications()).find((each) => each.name === name)
  if (!found) throw new Error(`There is no application ${name}`)
  return found
}
const change = async (by: Administrator, name: string, patch: object) => {
  const { id, version } = await named(name)
  return send(by, 'PATCH', `/applications/${id}`, patch, version)
}
const newest = async (kind: string) => {
  const { events } = (await ada.tab.get(`${adminPath}/events?kind=${kind}`)).body as { events: AdminEvent[] }
  const [event] = events
  if (!event) throw new Error(`There is no event ${kind}`)
  return event
}
const changeBack = (by: Administrator, { id }: AdminEvent, body: object = {}) =>
  send(by, 'POST', `/events/${id}/change-back`, { reason: 'not agreed', ...body })
const setting = async (name: string) => {
  const { settings } = (await ada.tab.get(`${adminPath}/settings`)).body as { settings: AdminSetting[] }
  const found = settings.find((each) => each.name === name)
  if (!found) throw new Error(`There is no setting ${name}`)
  return found
}
const apply = async (text: string, ...more: string[]) => {
  const path = join(folder, 'latchkey.yaml')
  await writeFile(path, text)
  const openRooms = (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role)
  return run({ openRooms }, ['apply', path, '--yes', ...more])
}

const redirect = ['https://wiki.example/callback']

it('an application is added, shown with its properties, changed and deleted', async () => {
  const added = await send(ada, 'POST', '/applications', { name: 'Wiki', redirect, allow: 'everyone', id: 'wiki' })
  expect([added.status, added.body]).toMatchObject([
    201,
    {
      secret: expect.stringMatching(/^[\w-]{43}$/),
      paste: [expect.stringContaining('client_id')],
      application: { id: 'wiki', name: 'Wiki', redirect, allow: 'everyone', factors: 1, maxAge: null, setBy: null },
    },
  ])
  const changed = await change(ada, 'Wiki', { maxAge: '10m', factors: 2, home: 'https://wiki.example/start' })
  expect([changed.status, changed.body]).toMatchObject([200, { maxAge: '10m', factors: 2 }])
  expect((await change(ada, 'Wiki', { maxAge: null, home: null })).body).toMatchObject({
    maxAge: null,
    home: 'https://wiki.example',
    factors: 2,
  })
  const { id, version } = await named('Wiki')
  const path = `/applications/${id}`
  expect((await send(ada, 'DELETE', path, { name: 'Wikii' }, version)).status).toBe(400)
  expect((await send(ada, 'DELETE', path, { name: 'Wiki' }, version)).status).toBe(204)
  expect(await applications()).toEqual([])
})

it('a known program fills what is not said, and the answer has the lines to paste', async () => {
  const body = { name: 'Grafana', for: 'grafana', home: 'https://grafana.example/', allow: 'everyone' }
  const added = await send(ada, 'POST', '/applications', body)
  expect(added.body).toMatchObject({
    application: {
      redirect: ['https://grafana.example/login/generic_oauth'],
      afterLogout: ['https://grafana.example/login'],
      home: 'https://grafana.example',
    },
    paste: [expect.anything(), expect.stringContaining('[auth.generic_oauth]')],
  })
  const site = { name: 'Site', proxy: 'https://site.example', allow: 'everyone', proxyProgram: 'caddy' }
  expect((await send(ada, 'POST', '/applications', site)).body).toMatchObject({
    secret: null,
    paste: [expect.stringContaining('import latchkey')],
  })
  const linesOf = async (name: string) => (await send(ada, 'GET', `/applications/${(await named(name)).id}/lines`)).body
  const { id: grafanaId } = await named('Grafana')
  expect(await linesOf('Grafana')).toEqual({
    lines: [{ for: 'program', text: expect.stringMatching(new RegExp(`client_id +${grafanaId}\nclient_secret +…\n`)) }],
  })
  const { lines } = (await linesOf('Site')) as { lines: { for: string; text: string }[] }
  expect(lines.map((each) => each.for)).toEqual(['caddy', 'nginx', 'traefik', 'haproxy'])
  for (const { text } of lines) expect(text).toContain('https://site.example')
  expect((await send(ada, 'GET', '/applications/none/lines')).status).toBe(404)
  for (const name of ['Grafana', 'Site']) {
    const { id, version } = await named(name)
    expect((await send(ada, 'DELETE', `/applications/${id}`, { name }, version)).status).toBe(204)
  }
})

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

it.each([
  [{ redirect: ['http://wiki.example/'], allow: 'everyone' }, 'invalid_configuration', 'bad_address'],
  [{ allow: 'everyone' }, 'invalid_configuration', 'no_redirect_address'],
  [{ redirect, allow: ['nobodies'] }, 'no_group', undefined],
  [{ redirect, allow: 'everyone', name: '\u202eWiki' }, 'invalid_configuration', 'bad_name'],
  [{ redirect, allow: 'everyone', noPkce: true, kind: 'browser' }, 'invalid_configuration', 'pkce_needed'],
  [{ for: 'gitea', allow: 'everyone' }, 'invalid_configuration', 'bad_program'],
  [
    { redirect, allow: 'everyone', icon: Buffer.from('<svg onload="alert(1)"/>').toString('base64') },
    'invalid_configuration',
    'bad_icon',
  ],
  [{ redirect, allow: 'everyone', icon: Buffer.alloc(40_000).toString('base64') }, 'invalid_configuration', 'bad_icon'],
  [{ redirect, allow: 'everyone', icon: 'x'.repeat(60_001) }, 'bad_request', undefined],
  [{ redirect, allow: 'everyone', icon: 'x'.repeat(200_000) }, 'too_large', undefined],
  [{ redirect }, 'bad_request', undefined],
  [{ redirect, allow: 'somebody' }, 'bad_request', undefined],
  [{ redirect: 'https://wiki.example/', allow: 'everyone' }, 'bad_request', undefined],
])('an application %j is refused, and nothing is added', async (shape, code, fault) => {
  const refused = await send(ada, 'POST', '/applications', { name: 'Wrong', ...shape })
  expect(refused.body).toMatchObject({ code, ...(fault && { fault }) })
  expect(await applications()).toEqual([])
})

it('two administrators who change one application at once: the second sees it, and decides', async () => {
  await send(ada, 'POST', '/applications', { name: 'Wiki', redirect, allow: 'everyone', icon: png })
  await ben.prove()
  await ada.prove()
  const { id, version, iconVersion } = await named('Wiki')
  expect(iconVersion).toMatch(/^[\da-f]{16}$/)
  const path = `/applications/${id}`
  const results = await Promise.all([
    send(ada, 'PATCH', path, { redirect: ['https://wiki.example/a'] }, version),
    send(ben, 'PATCH', path, { redirect: ['https://wiki.example/b'] }, version),
  ])
  expect(results.map(({ status }) => status).sort()).toEqual([200, 412])
  expect(results.find(({ status }) => status === 412)?.body.code).toBe('changed_meanwhile')
  // A form that was left open does not bring a removed address back.
  expect((await send(ben, 'PATCH', path, { redirect }, version)).status).toBe(412)
  expect((await send(ben, 'PATCH', path, { redirect })).body.code).toBe('bad_request')
  expect((await send(ben, 'DELETE', path, { name: 'Wiki' }, version)).status).toBe(412)
  expect((await send(ben, 'POST', `${path}/secrets`, undefined, version)).status).toBe(412)
  expect((await change(ben, 'Wiki', { redirect })).status).toBe(200)
})

it('each change needs a second factor of the last 5 minutes; reading does not', async () => {
  latchkey.clock.advance(6 * minutes)
  const { id, version } = await named('Wiki')
  const { body: open } = await ada.tab.get(`${adminPath}/settings`)
  expect(open.settings).toHaveLength(4)
  const event = await newest('application_changed')
  for (const [method, path, body] of [
    ['POST', '/applications', { name: 'Other', redirect, allow: 'everyone' }],
    ['PATCH', `/applications/${id}`, { allow: 'everyone' }],
    ['DELETE', `/applications/${id}`, { name: 'Wiki' }],
    ['POST', `/applications/${id}/secrets`, undefined],
    ['DELETE', `/applications/${id}/secrets/x`, undefined],
    ['PUT', '/settings/registration', { value: 'closed' }],
    ['DELETE', '/settings/registration', undefined],
    ['POST', `/events/${event.id}/change-back`, { reason: 'x' }],
  ] as const) {
    const refused = await send(ada, method, path, body, version)
    expect([path, refused.status, refused.body]).toMatchObject([
      path,
      403,
      { code: 'fresh_sign_in_required', methods: expect.arrayContaining(['totp']) },
    ])
  }
  await ada.prove()
  expect((await change(ada, 'Wiki', { factors: 1 })).status).toBe(200)
})

it('a change has its event with before and after, without secrets, and is mailed to all administrators', async () => {
  await change(ada, 'Wiki', { redirect: ['https://thief.example/callback'] })
  const event = await newest('application_changed')
  expect(event).toMatchObject({
    actor: 'ada',
    reason: 'Wiki: home, redirect_addresses',
    details: {
      kind: 'application',
      name: 'Wiki',
      before: { redirect },
      after: { redirect: ['https://thief.example/callback'] },
      canChangeBack: true,
    },
  })
  for (const { username } of [ada, ben]) {
    const mail = await latchkey.mailTo(`${username}@example.com`, /changed Wiki/)
    const text = mail.text.replaceAll('\u200b', '')
    expect(text).toContain('ada')
    expect(text).toContain('Added: redirect: https://thief.example/callback')
    expect(text).toContain('Removed: redirect: https://wiki.example/callback')
    expect(text).toContain('Before: home: https://wiki.example')
    expect(text).toContain('Now: home: https://thief.example')
    expect(text).toContain(`${latchkey.url}/api/auth/admin#events/${event.id}`)
  }
  const one = await ben.tab.get(`${adminPath}/events/${event.id}`)
  expect(one.body).toMatchObject({ id: event.id, details: { before: { redirect } } })
  const secret = await send(
    ada,
    'POST',
    `/applications/${event.details?.id}/secrets`,
    undefined,
    (await named('Wiki')).version,
  )
  expect(secret.status).toBe(201)
  const rows = await latchkey.sql.query<{ text: string }>('select e::text as text from events as e')
  const logged = [...rows.map(({ text }) => text), ...latchkey.logLines].join('\n')
  expect(logged).not.toContain(String(secret.body.secret))
})

it('another administrator changes it back from the event, and ends the access in the same step', async () => {
  const { id } = await named('Wiki')
  const user = await latchkey.signedUp('reader')
  await useApplication(latchkey.sql, user, id)
  const { events } = (await ada.tab.get(`${adminPath}/events?kind=application_changed`)).body as {
    events: AdminEvent[]
  }
  const event = events.find(({ reason }) => reason === 'Wiki: home, redirect_addresses')
  if (!event) throw new Error('an event was expected')
  latchkey.clock.advance(6 * minutes)
  expect((await changeBack(ben, event)).body.code).toBe('fresh_sign_in_required')
  await ben.prove()
  expect((await changeBack(ben, event, { endAccess: true })).status).toBe(200)
  expect(await named('Wiki')).toMatchObject({ redirect })
  expect(await latchkey.sql.query('select 1 from application_sessions where application_id = $1', [id])).toEqual([])
  // It is as it was, so there is nothing to change back any more.
  expect((await changeBack(ben, event)).body.code).toBe('changed_meanwhile')
})

describe('changing back', () => {
  it('a secret that was added, an application that was added or deleted, and a setting', async () => {
    await ada.prove()
    const secretEvent = await newest('application_changed').then(async () => {
      const { events } = (await ada.tab.get(`${adminPath}/events?kind=application_changed`)).body as {
        events: AdminEvent[]
      }
      return events.find(({ reason }) => reason === 'Wiki: secret added')
    })
    if (!secretEvent) throw new Error('an event was expected')
    expect((await named('Wiki')).secrets).toHaveLength(2)
    expect((await changeBack(ada, secretEvent)).status).toBe(200)
    expect((await named('Wiki')).secrets).toHaveLength(1)
    const removed = await newest('application_changed')
    expect(removed.details?.canChangeBack).toBe(false)
    expect((await changeBack(ada, removed)).body.code).toBe('not_changed_back')

    await send(ada, 'POST', '/applications', { name: 'Gone', redirect, allow: 'everyone', factors: 2, id: 'gone' })
    const { id, version } = await named('Gone')
    await send(ada, 'DELETE', `/applications/${id}`, { name: 'Gone' }, version)
    const restored = await changeBack(ada, await newest('application_deleted'))
    expect(restored.body).toMatchObject({ secret: expect.stringMatching(/^[\w-]{43}$/) })
    expect(await named('Gone')).toMatchObject({ id: 'gone', factors: 2, redirect })
    expect((await changeBack(ada, await newest('application_added'))).status).toBe(200)
    expect((await applications()).map(({ name }) => name)).toEqual(['Wiki'])

    const { version: before } = await setting('registration')
    await send(ada, 'PUT', '/settings/registration', { value: 'closed' }, before)
    expect((await changeBack(ada, await newest('setting_changed'))).status).toBe(200)
    expect(await setting('registration')).toMatchObject({ value: 'open', setBy: 'default' })
  })

  it('an event of another kind, and one that does not exist', async () => {
    const { events } = (await ada.tab.get(`${adminPath}/events?kind=signed_in,registered`)).body as {
      events: AdminEvent[]
    }
    expect((await changeBack(ada, events[0] as AdminEvent)).body.code).toBe('not_changed_back')
    const unknown = await send(ada, 'POST', '/events/0190c0de-0000-7000-8000-000000000001/change-back', { reason: 'x' })
    expect(unknown.status).toBe(404)
  })
})

it('a setting is changed for every page and every sign-in at once, and put back to its default', async () => {
  const { version, ...shown } = await setting('registration')
  expect(shown).toMatchObject({ value: 'open', default: 'open', setBy: 'default', variable: 'REGISTRATION' })
  const changed = await send(ada, 'PUT', '/settings/registration', { value: 'closed' }, version)
  expect(changed.body).toMatchObject({ value: 'closed', setBy: { page: 'ada', at: expect.any(String) } })
  const form = { username: 'new', email: 'new@example.com', password: 'violet-Harbor-91-lantern' }
  expect((await latchkey.browser().post('/api/auth/register', form)).body.code).toBe('registration_closed')
  expect((await latchkey.browser().get('/login')).text).toContain('"registration":"closed"')
  expect((await send(ada, 'PUT', '/settings/registration', { value: 'open' }, version)).status).toBe(412)
  const wrong = await send(
    ada,
    'PUT',
    '/settings/registration',
    { value: 'nobody' },
    (await setting('registration')).version,
  )
  expect(wrong.body).toMatchObject({ code: 'invalid_configuration', fault: 'bad_value' })
  expect(await newest('setting_changed')).toMatchObject({ reason: 'registration: open -> closed', actor: 'ada' })
  const back = await send(ada, 'DELETE', '/settings/registration', undefined, (await setting('registration')).version)
  expect(back.body).toMatchObject({ value: 'open', setBy: 'default' })
  expect((await latchkey.browser().get('/login')).text).toContain('"registration":"open"')
  expect((await latchkey.browser().post('/api/auth/register', form)).status).toBe(202)
  const domains = await setting('registrationDomains')
  const limited = await send(ada, 'PUT', '/settings/registrationDomains', { value: ['Exämple.org'] }, domains.version)
  expect(limited.body.value).toEqual(['xn--exmple-cua.org'])
  const other = { ...form, username: 'other', email: 'other@example.com' }
  expect((await latchkey.browser().post('/api/auth/register', other)).body.code).toBe('email_domain_not_allowed')
  await send(ada, 'DELETE', '/settings/registrationDomains', undefined, (await setting('registrationDomains')).version)
})

it('a sign-in by mail is there while the setting is on', async () => {
  const ask = () => latchkey.browser().post('/api/auth/mail-login', { email: 'ada@example.com' })
  expect((await ask()).status).toBe(404)
  await send(ada, 'PUT', '/settings/mailSignIn', { value: 'on' }, (await setting('mailSignIn')).version)
  expect((await ask()).status).toBe(202)
  expect((await latchkey.browser().get('/login')).text).toContain('"mailSignIn":true')
  await send(ada, 'DELETE', '/settings/mailSignIn', undefined, (await setting('mailSignIn')).version)
  expect((await ask()).status).toBe(404)
})

it('what a variable sets says so, and is refused; so is what a file sets', async () => {
  const fixed = await setting('secondFactor')
  expect(fixed).toMatchObject({ value: 'optional', setBy: 'environment' })
  const refused = await send(ada, 'PUT', '/settings/secondFactor', { value: 'required' }, fixed.version)
  expect([refused.status, refused.body.code]).toEqual([409, 'set_by_environment'])
  expect(await apply('settings: {secondFactor: required}')).toMatchObject({
    code: 1,
    err: expect.stringContaining('settings.secondFactor is set by SECOND_FACTOR'),
  })

  const text = 'groups: {family: {}}\napplications: {Filed: {redirect: [https://filed.example/cb], allow: [family]}}'
  expect(await apply(`${text}\nsettings: {registration: invited}`)).toMatchObject({ code: 0 })
  const { id, version, setBy } = await named('Filed')
  expect(setBy).toEqual({ file: 'latchkey.yaml' })
  const path = `/applications/${id}`
  for (const refusal of [
    await send(ada, 'PATCH', path, { allow: 'everyone' }, version),
    await send(ada, 'DELETE', path, { name: 'Filed' }, version),
    await send(ada, 'PUT', '/settings/registration', { value: 'open' }, (await setting('registration')).version),
    await send(ada, 'DELETE', '/groups', { name: 'family' }),
  ])
    expect([refusal.status, refusal.body.code]).toEqual([409, 'set_by_file'])
  expect((await ada.tab.get(`${adminPath}/groups`)).body.groups).toContainEqual(
    expect.objectContaining({ name: 'family', setBy: { file: 'latchkey.yaml' } }),
  )
  // The file says nothing about its secrets.
  expect((await send(ada, 'POST', `${path}/secrets`, undefined, version)).status).toBe(201)
  expect(await apply('groups: {}', '--prune')).toMatchObject({ code: 0 })
})

it('secrets: two at most, one at least, none without a server', async () => {
  const { id } = await named('Wiki')
  const secrets = `/applications/${id}/secrets`
  const first = (await named('Wiki')).secrets[0]?.id
  const add = async () => send(ada, 'POST', secrets, undefined, (await named('Wiki')).version)
  const remove = async (n = '') => send(ada, 'DELETE', `${secrets}/${n}`, undefined, (await named('Wiki')).version)
  expect((await remove(first)).body.code).toBe('last_secret')
  expect((await add()).status).toBe(201)
  expect((await add()).body.code).toBe('too_many_secrets')
  expect((await remove('0190c0de-0000-7000-8000-000000000001')).status).toBe(404)
  expect((await remove(first)).status).toBe(204)
  const page = { name: 'Page', kind: 'browser', redirect: ['https://page.example/cb'], allow: 'everyone' }
  await send(ada, 'POST', '/applications', page)
  const { id: pageId, version } = await named('Page')
  expect((await send(ada, 'POST', `/applications/${pageId}/secrets`, undefined, version)).body.code).toBe(
    'has_no_secret',
  )
})

it('support reads all of it and changes nothing; others find nothing there', async () => {
  const helper = await signedUpInGroup(latchkey, 'helper', 'helpdesk')
  expect((await helper.tab.get(`${adminPath}/settings`)).status).toBe(200)
  const { id, version } = await named('Wiki')
  for (const [method, path, body] of [
    ['POST', '/applications', { name: 'Other', redirect, allow: 'everyone' }],
    ['PATCH', `/applications/${id}`, { factors: 2 }],
    ['PUT', '/settings/registration', { value: 'closed' }],
  ] as const)
    expect((await send(helper, method, path, body, version)).body.code).toBe('group_required')
})

it('ADMIN_APPLICATIONS=off leaves only who may use an application', async () => {
  const settings = { ADMIN_GROUP: 'admins', ADMIN_APPLICATIONS: 'off' }
  const other = await startLatchkey({ settings })
  try {
    const root = await signedUpInGroup(other, 'root1', 'admins')
    await other.app.rooms.groups.add('staff', { ip: 'command line', userAgent: 'test' })
    const { applicationChanges } = other.app.rooms
    const { newApplicationFrom } = await import('../../src/applications/application-shape.js')
    const operator = { ip: 'command line', userAgent: 'test' }
    await applicationChanges.add(newApplicationFrom('Wiki', { redirect, allow: 'everyone' }), operator, { id: 'wiki' })
    const shown = async () =>
      ((await root.tab.get(`${adminPath}/applications`)).body.applications as AdminApplication[])[0]?.version
    const patch = async (body: object) => send(root, 'PATCH', '/applications/wiki', body, await shown())
    for (const refused of [
      await send(root, 'POST', '/applications', { name: 'Other', redirect, allow: 'everyone' }),
      await patch({ redirect: ['https://thief.example/'] }),
      await patch({ allow: ['staff'], redirect: ['https://thief.example/'], reason: 'x' }),
      await patch({ icon: png }),
      await send(root, 'DELETE', '/applications/wiki', { name: 'Wiki' }, await shown()),
      await send(root, 'POST', '/applications/wiki/secrets', undefined, await shown()),
      await send(root, 'PUT', '/settings/registration', { value: 'closed' }, 'x'),
    ])
      expect([refused.status, refused.body.code]).toEqual([403, 'applications_off'])
    expect((await patch({ allow: ['staff'], reason: 'for the staff' })).body).toMatchObject({ allow: ['staff'] })
    expect((await root.tab.get(`${adminPath}/settings`)).body.applicationsCanChange).toBe(false)
  } finally {
    await other.stop()
  }
})

it.each([
  ['among 27 short ones', (at: number) => `https://wiki.example/callback${at}`, 26],
  ['behind a long one', (at: number) => `https://wiki.example/${'a'.repeat(1_479)}${at}`, 1],
  ['behind 26 long ones', (at: number) => `https://wiki.example/${'a'.repeat(1_479)}${at}`, 26],
  ['behind the name of another host', () => 'https://wiki.example.evil.example/callback', 1],
])('the mail about a change names the host of every address that was added: %s', async (_, others, number) => {
  await ada.prove()
  const evil = `https://evil.example/${'b'.repeat(1_479)}`
  const added = [...Array.from({ length: number }, (_each, at) => others(at)), evil]
  const kept = ['https://notes.example/callback']
  expect((await send(ada, 'POST', '/applications', { name: 'Notes', redirect: kept, allow: 'everyone' })).status).toBe(
    201,
  )
  const before = [...latchkey.mails()]
  expect((await change(ada, 'Notes', { redirect: [...kept, ...added] })).status).toBe(200)
  const text = (await latchkey.mailTo('ben@example.com', /Unchanged: redirect \(1\)/, before)).text.replaceAll(
    '\u200b',
    '',
  )
  const shown = text.split('Added: ')[1] ?? ''
  for (const address of added) {
    expect(shown).toContain(new URL(address).origin)
    // Either the address is whole, or the mail says that it is not.
    expect(shown.includes(address) || shown.includes('only the hosts are named')).toBe(true)
  }
  expect(shown).toContain('Unchanged: redirect (1)')
  const { id, version } = await named('Notes')
  expect((await send(ada, 'DELETE', `/applications/${id}`, { name: 'Notes' }, version)).status).toBe(204)
})
