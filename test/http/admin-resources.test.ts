import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import { type ResourceGuardOptions, resourceGuard } from '@latchkey/verify/resource'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminApplications, type AdminEvent, type AdminResource, adminPath } from '#contract/admin/admin-bodies.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { minutes } from '../../src/lib/durations.js'
import { signedUpInGroup } from '../support/administrators.js'
import { postForm } from '../support/authorizations.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openidApplication } from '../support/openid-application.js'
import { addResource } from '../support/resources.js'
import { latchkey as run } from '../support/terminal.js'

type Administrator = Awaited<ReturnType<typeof signedUpInGroup>>
let latchkey: Latchkey
let ada: Administrator
let ben: Administrator
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-resources-'))
  latchkey = await startLatchkey({
    settings: { ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpdesk', CLIENT_DOCUMENTS: 'programs.example' },
  })
  ada = await signedUpInGroup(latchkey, 'ada', 'admins')
  ben = await signedUpInGroup(latchkey, 'ben', 'admins')
  // The clock of commands is behind, and for them a group of the future does not exist.
  await command('group', 'add', 'staff')
  await ada.prove()
  await ben.prove()
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
const resources = async () => (await ada.tab.get(`${adminPath}/resources`)).body.resources as AdminResource[]
const named = async (name: string) => {
  const found = (await resources()).find((each) => each.name === name)
  if (!found) throw new Error(`There is no resource ${name}`)
  return found
}
const change = async (by: Administrator, name: string, patch: object) => {
  const { id, version } = await named(name)
  return send(by, 'PATCH', `/resources/${id}`, patch, version)
}
const remove = async (name: string) => {
  const { id, version } = await named(name)
  return send(ada, 'DELETE', `/resources/${id}`, { name }, version)
}
/** The clock of commands is another one, so theirs are asked for by where they come from. */
const newest = async (kind: string, ip = '127.0.0.1') => {
  const query = new URLSearchParams({ kind, ip })
  const { events } = (await ada.tab.get(`${adminPath}/events?${query}`)).body as { events: AdminEvent[] }
  const [event] = events
  if (!event) throw new Error(`There is no event ${kind}`)
  return event
}
const changeBack = (by: Administrator, { id }: AdminEvent, body: object = {}) =>
  send(by, 'POST', `/events/${id}/change-back`, { reason: 'not agreed', ...body })
const command = (...args: string[]) => {
  const openRooms = (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role)
  return run({ openRooms }, args)
}
const apply = async (text: string, ...more: string[]) => {
  const path = join(folder, 'latchkey.yaml')
  await writeFile(path, text)
  return command('apply', path, '--yes', ...more)
}

const address = 'https://mcp.example.com/mcp'
const scopes = { write: 'Change pages', a: null, read: 'Read pages' }
const wiki = { name: 'Wiki tools', address, scopes, allow: 'everyone' }

it('a resource is added, shown with the lines for its server, changed and deleted', async () => {
  const added = await send(ada, 'POST', '/resources', { ...wiki, address: 'HTTPS://mcp.example.com:443/mcp' })
  expect([added.status, added.body]).toMatchObject([
    201,
    { name: 'Wiki tools', address, scopes, allow: 'everyone', algorithm: 'ES256', setBy: null },
  ])
  const { paste, ...shown } = await named('Wiki tools')
  // In this order users are asked.
  expect(Object.keys(shown.scopes)).toEqual(['write', 'a', 'read'])
  expect(paste).toContain(`resource: "${address}",`)
  // The lines run as they are. The list of ended sessions would be followed for as long as the process lives.
  const keys: unknown[] = []
  const used: unknown[] = []
  const guardOf = (lines: string) =>
    runInNewContext(`${lines.replace(/^import .*$/m, '')}\n;guard`, {
      resourceGuard: ({ revocations, ...options }: ResourceGuardOptions) => {
        keys.push(revocations)
        return resourceGuard(options)
      },
      process: { env: { LATCHKEY_SERVICE_KEY: 'a-key-of-the-mcp-server-0123456789' } },
      app: { use: (...given: unknown[]) => used.push(given) },
    }) as ReturnType<typeof resourceGuard>
  const { metadataPath, express } = guardOf(paste)
  expect(used).toEqual([[['/mcp', metadataPath], express]])
  expect(keys).toEqual([{ serviceKey: 'a-key-of-the-mcp-server-0123456789' }])
  expect(paste).toContain('scopes: ["write","a","read"],')
  expect(paste).toContain(`publicUrl: "${latchkey.config.publicUrl}",`)
  expect(paste).toContain('app.use(["/mcp", guard.metadataPath], guard.express)')
  const changed = await change(ada, 'Wiki tools', { name: 'Wiki', scopes: null, algorithm: 'RS256' })
  expect([changed.status, changed.body]).toMatchObject([200, { name: 'Wiki', scopes: {}, algorithm: 'RS256', address }])
  expect((await change(ada, 'Wiki', { algorithm: null })).body).toMatchObject({ algorithm: 'ES256' })
  const { id, version } = await named('Wiki')
  expect((await send(ada, 'DELETE', `/resources/${id}`, { name: 'Wikii' }, version)).status).toBe(400)
  expect((await send(ada, 'DELETE', `/resources/${id}`, { name: 'Wiki' }, version)).status).toBe(204)
  expect(await resources()).toEqual([])
  expect((await send(ada, 'PATCH', `/resources/${id}`, { algorithm: 'RS256' }, version)).status).toBe(404)
})

it.each([
  [{ address: 'http://mcp.example.com/mcp' }, 'invalid_configuration', 'bad_address'],
  [{ address: `${address}?a=b` }, 'invalid_configuration', 'bad_address'],
  [{ scopes: { openid: null } }, 'invalid_configuration', 'bad_scope'],
  [{ scopes: { read: 'Read\u202epages' } }, 'invalid_configuration', 'bad_scope'],
  [{ name: '\u202eWiki' }, 'invalid_configuration', 'bad_name'],
  [{ allow: ['nobodies'] }, 'no_group', undefined],
  [{ allow: undefined }, 'bad_request', undefined],
  [{ address: undefined }, 'bad_request', undefined],
  [{ scopes: { 'two words': null } }, 'invalid_configuration', 'bad_scope'],
  [{ scopes: { read: ['x'] } }, 'bad_request', undefined],
  [{ scopes: ['read'] }, 'bad_request', undefined],
  [
    { scopes: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`s${at}`, null])) },
    'invalid_configuration',
    'too_many_scopes',
  ],
  [{ algorithm: 'HS256' }, 'bad_request', undefined],
])('a resource with %j is refused, and nothing is added', async (wrong, code, fault) => {
  const refused = await send(ada, 'POST', '/resources', { ...wiki, ...wrong })
  expect(refused.body).toMatchObject({ code, ...(fault && { fault }) })
  expect(await resources()).toEqual([])
})

it('what another has is refused, and so is a form that was left open', async () => {
  await send(ada, 'POST', '/resources', wiki)
  const taken = await send(ada, 'POST', '/resources', { ...wiki, name: 'Other' })
  expect([taken.status, taken.body.code]).toEqual([409, 'resource_taken'])
  await send(ada, 'POST', '/resources', { ...wiki, name: 'Other', address: `${address}/2` })
  expect((await change(ada, 'Other', { name: 'wiki TOOLS' })).body.code).toBe('resource_taken')
  expect((await remove('Other')).status).toBe(204)

  const { id, version } = await named('Wiki tools')
  const path = `/resources/${id}`
  const results = await Promise.all([
    send(ada, 'PATCH', path, { scopes: { a: null } }, version),
    send(ben, 'PATCH', path, { scopes: { b: null } }, version),
  ])
  expect(results.map(({ status }) => status).sort()).toEqual([200, 412])
  expect((await send(ben, 'PATCH', path, { scopes }, version)).body.code).toBe('changed_meanwhile')
  expect((await send(ben, 'DELETE', path, { name: 'Wiki tools' }, version)).status).toBe(412)
  expect((await send(ben, 'PATCH', path, { scopes })).body.code).toBe('bad_request')
  expect((await change(ben, 'Wiki tools', { scopes })).status).toBe(200)
})

it('each change needs a second factor of the last 5 minutes, and support changes nothing', async () => {
  const { id, version } = await named('Wiki tools')
  const calls = [
    ['POST', '/resources', { ...wiki, name: 'Other', address: `${address}/2` }],
    ['PATCH', `/resources/${id}`, { allow: 'everyone' }],
    ['DELETE', `/resources/${id}`, { name: 'Wiki tools' }],
    ['POST', `/applications/${id}/end-access`, { reason: 'x' }],
  ] as const
  const helper = await signedUpInGroup(latchkey, 'helper', 'helpdesk')
  expect((await helper.tab.get(`${adminPath}/resources`)).status).toBe(200)
  for (const [method, path, body] of calls)
    expect((await send(helper, method, path, body, version)).body.code).toBe('group_required')
  latchkey.clock.advance(6 * minutes)
  for (const [method, path, body] of calls) {
    const refused = await send(ada, method, path, body, version)
    expect([path, refused.status, refused.body.code]).toEqual([path, 403, 'fresh_sign_in_required'])
  }
  await ada.prove()
  await ben.prove()
})

describe('a change', () => {
  it('has its event with before and after, and is mailed to all administrators', async () => {
    await change(ada, 'Wiki tools', { scopes: { write: 'Change pages', admin: 'Everything' } })
    const event = await newest('resource_changed')
    expect(event).toMatchObject({
      actor: 'ada',
      reason: 'Wiki tools: scopes',
      details: {
        kind: 'resource',
        name: 'Wiki tools',
        before: { scopes: ['write=Change pages', 'a', 'read=Read pages'] },
        after: { scopes: ['write=Change pages', 'admin=Everything'] },
        canChangeBack: true,
      },
    })
    for (const { username } of [ada, ben]) {
      const mail = await latchkey.mailTo(`${username}@example.com`, /changed Wiki tools/)
      const text = mail.text.replaceAll('\u200b', '')
      expect(text).toContain('Wiki tools (resource)')
      expect(text).toContain('Added: scopes: admin=Everything')
      expect(text).toContain('Removed: scopes: a, read=Read pages')
      expect(text).toContain(`${latchkey.url}/api/auth/admin#events/${event.id}`)
    }
  })

  it('is changed back by another administrator, with the same proof, and its scopes keep their order', async () => {
    const event = await newest('resource_changed')
    latchkey.clock.advance(6 * minutes)
    expect((await changeBack(ben, event)).body.code).toBe('fresh_sign_in_required')
    await ben.prove()
    await ada.prove()
    expect((await changeBack(ben, event)).status).toBe(200)
    const { scopes: now } = await named('Wiki tools')
    expect(Object.entries(now)).toEqual(Object.entries(scopes))
    expect((await changeBack(ben, event)).body.code).toBe('changed_meanwhile')
  })

  it('that added or deleted it is changed back too', async () => {
    const { id } = await named('Wiki tools')
    await change(ada, 'Wiki tools', { algorithm: 'RS256' })
    await remove('Wiki tools')
    const deleted = await newest('resource_deleted')
    expect((await changeBack(ada, deleted)).status).toBe(200)
    const back = await named('Wiki tools')
    expect(back).toMatchObject({ id, address, allow: 'everyone', algorithm: 'RS256' })
    expect(Object.entries(back.scopes)).toEqual(Object.entries(scopes))
    expect((await changeBack(ada, deleted)).body.code).toBe('resource_taken')
    const added = await newest('resource_added')
    await change(ada, 'Wiki tools', { algorithm: 'ES256' })
    expect((await changeBack(ada, added)).body.code).toBe('changed_meanwhile')
    await change(ada, 'Wiki tools', { algorithm: 'RS256' })
    expect((await changeBack(ada, added)).status).toBe(200)
    expect(await resources()).toEqual([])
  })

  it('by a command or a file has before and after too, and no mail', async () => {
    expect(
      await command('resource', 'add', address, '--name', 'Wiki tools', '--scope', 'read', '--everyone'),
    ).toMatchObject({ code: 0 })
    expect((await newest('resource_added', 'command line')).details?.after).toEqual({
      address,
      scopes: ['read'],
      allow: 'everyone',
    })
    const mails = async () => (await latchkey.sql.query('select 1 from outgoing_mail')).length
    const before = await mails()
    expect(
      await command('resource', 'change', 'Wiki tools', '--group', 'staff', '--scope', 'none', '--name', 'Tools'),
    ).toMatchObject({ code: 0, err: '' })
    const changed = await newest('resource_changed', 'command line')
    expect(changed.details).toMatchObject({
      name: 'Wiki tools',
      before: { name: 'Wiki tools', scopes: ['read'], allow: 'everyone' },
      after: { name: 'Tools', scopes: [], allow: ['staff'] },
    })
    expect(await mails()).toBe(before)
    expect((await changeBack(ada, changed)).status).toBe(200)
    expect(await named('Wiki tools')).toMatchObject({ scopes: { read: null }, allow: 'everyone' })
    await command('resource', 'delete', 'Wiki tools', '--yes')
    expect((await newest('resource_deleted', 'command line')).details?.before).toMatchObject({
      address,
      scopes: ['read'],
    })
  })
})

it('what a file sets says so and is refused; the file hands it back', async () => {
  const text = `resources: {Filed: {address: '${address}', allow: [staff], scopes: {read: Read}}}`
  expect(await apply(`groups: {staff: {}}\n${text}`)).toMatchObject({ code: 0, err: '' })
  const { id, version, setBy } = await named('Filed')
  expect(setBy).toEqual({ file: 'latchkey.yaml' })
  for (const refusal of [
    await send(ada, 'PATCH', `/resources/${id}`, { allow: 'everyone' }, version),
    await send(ada, 'DELETE', `/resources/${id}`, { name: 'Filed' }, version),
    await changeBack(ada, await newest('resource_added', 'command line')),
  ])
    expect([refusal.status, refusal.body.code]).toEqual([409, 'set_by_file'])
  expect(await apply('groups: {staff: {}}')).toMatchObject({ code: 0 })
  expect((await named('Filed')).setBy).toBe(null)
  expect((await remove('Filed')).status).toBe(204)
})

describe('a program that uses a resource', () => {
  const sessions = async () => latchkey.sql.query('select 1 from application_sessions where resource_id is not null')
  const signIn = async (username: string) => {
    const resource = await addResource(latchkey)
    const helper = await openidApplication(latchkey, {
      name: `Helper of ${username}`,
      kind: 'native',
      home: 'http://127.0.0.1/',
      redirectAddresses: ['http://127.0.0.1/callback'],
      logoutAddresses: [],
    })
    const tab = await latchkey.signedUp(username)
    const asked = await helper.answer(
      tab,
      await helper.ask(tab, { resource: resource.address, scope: 'read', nonce: null }),
      'continue',
    )
    const redeemed = await postForm(latchkey.url, '/api/auth/token', {
      grant_type: 'authorization_code',
      client_id: helper.application.id,
      code: helper.told(asked).code ?? '',
      code_verifier: asked.sent.verifier,
      redirect_uri: helper.redirectAddress,
    })
    expect(redeemed.status).toBe(200)
    return { helper, resource }
  }

  it('loses it with the right of its user, for a reason', async () => {
    await signIn('reader')
    expect(await sessions()).toHaveLength(1)
    expect((await change(ada, 'Wiki tools', { allow: ['staff'] })).body.code).toBe('reason_required')
    expect((await change(ada, 'Wiki tools', { allow: ['staff'], reason: 'only for the staff' })).status).toBe(200)
    expect(await sessions()).toHaveLength(0)
    expect(await newest('application_access_ended')).toMatchObject({ actorReason: 'only for the staff' })
    expect((await remove('Wiki tools')).status).toBe(204)
  })

  it('loses it with `endAccess`, also when a change is changed back', async () => {
    await signIn('second')
    expect((await change(ada, 'Wiki tools', { endAccess: true })).body.code).toBe('reason_required')
    expect((await change(ada, 'Wiki tools', { endAccess: true, reason: 'a leak' })).status).toBe(200)
    expect(await sessions()).toHaveLength(0)
    await remove('Wiki tools')
    await signIn('third')
    await change(ada, 'Wiki tools', { scopes: { read: 'Read everything' } })
    expect(await sessions()).toHaveLength(1)
    expect((await changeBack(ada, await newest('resource_changed'), { endAccess: true })).status).toBe(200)
    expect(await sessions()).toHaveLength(0)
    await remove('Wiki tools')
  })

  it('of a document is listed with its host and its sessions, and its access ends with a reason', async () => {
    const { helper } = await signIn('fourth')
    const { id } = helper.application
    const document = 'https://programs.example/helper.json'
    await latchkey.sql.query("update applications set kind = 'document', document = $2 where id = $1", [id, document])
    const listed = async () => (await ada.tab.get(`${adminPath}/applications`)).body as AdminApplications
    const { applications, programs } = await listed()
    expect(applications.map(({ name }) => name)).not.toContain('Helper of fourth')
    expect(programs).toMatchObject([{ id, name: 'Helper of fourth', host: 'programs.example', document, sessions: 1 }])
    const path = `/applications/${id}/end-access`
    expect((await send(ada, 'POST', path, {})).status).toBe(400)
    expect((await send(ada, 'POST', path, { reason: 'not ours' })).status).toBe(204)
    expect((await listed()).programs).toMatchObject([{ id, sessions: 0 }])
    expect(await sessions()).toHaveLength(0)
    expect(await newest('application_access_ended')).toMatchObject({ actor: 'ada', actorReason: 'not ours' })
    const unknown = '/applications/0190c0de-0000-7000-8000-000000000001/end-access'
    expect((await send(ada, 'POST', unknown, { reason: 'x' })).status).toBe(404)
    // Nothing that an operator has written would come back.
    await command('application', 'delete', id, '--yes')
    expect((await newest('application_deleted', 'command line')).details?.canChangeBack).toBe(false)
  })
})

it('ADMIN_APPLICATIONS=off leaves only who may use a resource', async () => {
  const other = await startLatchkey({ settings: { ADMIN_GROUP: 'admins', ADMIN_APPLICATIONS: 'off' } })
  try {
    const root = await signedUpInGroup(other, 'root1', 'admins')
    await other.app.rooms.groups.add('staff', { ip: 'command line', userAgent: 'test' })
    const { id } = await addResource(other)
    await root.prove()
    const version = async () =>
      ((await root.tab.get(`${adminPath}/resources`)).body.resources as AdminResource[])[0]?.version
    const patch = async (body: object) => send(root, 'PATCH', `/resources/${id}`, body, await version())
    for (const refused of [
      await send(root, 'POST', '/resources', { ...wiki, name: 'Other', address: `${address}/2` }),
      await patch({ scopes: {} }),
      await patch({ name: 'Other', allow: ['staff'], reason: 'x' }),
      await patch({ endAccess: true, reason: 'x' }),
      await send(root, 'DELETE', `/resources/${id}`, { name: 'Wiki tools' }, await version()),
    ])
      expect([refused.status, refused.body.code]).toEqual([403, 'applications_off'])
    expect((await patch({ allow: ['staff'], reason: 'for the staff' })).body).toMatchObject({ allow: ['staff'] })
  } finally {
    await other.stop()
  }
})
