import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type AdminApplication, type AdminSetting, adminPath } from '#contract/admin/admin-bodies.js'
import { signedUpInGroup } from '../support/administrators.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let folder: string
let file: string
let latchkey: Latchkey
let ada: Awaited<ReturnType<typeof signedUpInGroup>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-admin-rules-'))
  file = join(folder, 'latchkey.yaml')
  await writeFile(file, 'groups: {}')
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: 'admins', CONFIGURATION_FILE: file } })
  ada = await signedUpInGroup(latchkey, 'ada', 'admins')
  await ada.prove()
})
afterAll(async () => {
  await latchkey.stop()
  await rm(folder, { recursive: true })
})

const send = (method: string, path: string, body?: object, version?: string) =>
  ada.tab.send(method, `${adminPath}${path}`, body, {
    csrf: true,
    ...(version !== undefined && { headers: { 'if-match': `"${version}"` } }),
  })
const add = (name: string, more: object = {}) =>
  send('POST', '/applications', { name, redirect: ['https://w.example/cb'], allow: 'everyone', ...more })
const named = async (name: string) => {
  const { applications } = (await ada.tab.get(`${adminPath}/applications`)).body as { applications: AdminApplication[] }
  const found = applications.find((each) => each.name === name)
  if (!found) throw new Error(`There is no application ${name}`)
  return found
}
const change = async (name: string, patch: object) => {
  const { id, version } = await named(name)
  return send('PATCH', `/applications/${id}`, patch, version)
}
const badRequest = (message: string) => ({ status: 400, body: { code: 'bad_request', message } })

it('a maxAge out of range is 400, with the rule of files and commands', async () => {
  expect((await add('Wiki')).status).toBe(201)
  const refused = badRequest('maxAge must be a time such as 10m or 8h, from 1s to 365d')
  for (const maxAge of ['0s', '400d', '99999d', '999999999s', '01m', '5ms', '']) {
    expect(await add('Other', { maxAge })).toMatchObject(refused)
    expect(await change('Wiki', { maxAge })).toMatchObject(refused)
  }
  for (const maxAge of ['365d', '1s', null])
    expect(await change('Wiki', { maxAge })).toMatchObject({ status: 200, body: { maxAge } })
})

it('the answer says what is wrong with a list of groups, and what else it can be', async () => {
  const twice = badRequest('allow has an entry twice')
  expect(await change('Wiki', { allow: ['admins', 'admins'], reason: 'a try' })).toMatchObject(twice)
  expect(await add('Other', { allow: ['admins', 'admins'] })).toMatchObject(twice)
  expect(await add('Other', { allow: 'nobody' })).toMatchObject(badRequest('allow must be everyone or a list'))
  const name = expect.stringContaining('allow.0 must be the name of a group')
  expect(await add('Other', { allow: ['No Group'] })).toMatchObject({ status: 400, body: { message: name } })
  const id = badRequest(
    'id must be 1 to 63 small letters, digits, hyphens and underscores, with a letter or a digit first',
  )
  expect(await add('Other', { id: 'No' })).toMatchObject(id)
})

it('a property that is not known, or cannot change, is refused by its name, and nothing changes', async () => {
  const before = await named('Wiki')
  for (const [patch, property] of [
    [{ kind: 'native' }, 'kind'],
    [{ id: 'other' }, 'id'],
    [{ secret: 'a-secret-of-the-wiki-0123456789-abcdef' }, 'secret'],
    [{ factor: 2, factors: 2 }, 'factor'],
  ] as const) {
    const refused = await change('Wiki', patch)
    expect(refused).toMatchObject({ status: 400, body: { code: 'bad_request' } })
    expect(refused.body.message).toMatch(
      new RegExp(`^${property} is not known in the body of this request: it takes name`),
    )
  }
  expect(await named('Wiki')).toEqual(before)
  expect(await add('Other', { secret: { env: 'A' } })).toMatchObject({ status: 400 })
  const { settings } = (await ada.tab.get(`${adminPath}/settings`)).body as { settings: AdminSetting[] }
  const { version = '' } = settings.find(({ name }) => name === 'secondFactor') ?? {}
  const wrong = { value: 'required', reasons: 'a try' }
  expect(await send('PUT', '/settings/secondFactor', wrong, version)).toMatchObject({ status: 400 })
  const { id, version: read } = await named('Wiki')
  expect(await send('DELETE', `/applications/${id}`, { name: 'Wiki', force: true }, read)).toMatchObject({
    status: 400,
  })
  expect(await named('Wiki')).toEqual(before)
  const tools = { name: 'Tools', address: 'https://mcp.example/mcp', allow: 'everyone' }
  expect(await send('POST', '/resources', { ...tools, scope: ['read'] })).toMatchObject({ status: 400 })
  const added = await send('POST', '/resources', tools)
  const { id: resource, version: first } = added.body as { id: string; version: string }
  for (const patch of [{ address: 'https://other.example' }, { scope: {} }, { kind: 'api' }])
    expect(await send('PATCH', `/resources/${resource}`, patch, first)).toMatchObject({ status: 400 })
})

it('the mail says whether an application was added, changed or deleted', async () => {
  const subjectOf = async (done: string) =>
    (await latchkey.mailTo('ada@example.com', new RegExp(`has just ${done} Blog`))).subject
  await add('Blog', { redirect: ['https://b.example/cb'] })
  expect(await subjectOf('added')).toContain('An administrator added Blog (application)')
  await change('Blog', { factors: 2 })
  expect(await subjectOf('changed')).toContain('An administrator changed Blog (application)')
  const { id, version } = await named('Blog')
  expect(await send('DELETE', `/applications/${id}`, { name: 'Blog' }, version)).toMatchObject({ status: 204 })
  expect(await subjectOf('deleted')).toContain('An administrator deleted Blog (application)')
})

it('secrets that a file names are refused to the page, and its events have an origin of their own', async () => {
  await writeFile(join(folder, 'secret'), 'a-secret-of-the-wiki-0123456789-abcdef')
  const text = (more: string) =>
    `applications: {Grafana: {id: grafana, redirect: [https://g.example/cb], allow: everyone${more}}}`
  await writeFile(file, text(', secret: {file: secret}'))
  await latchkey.app.applyConfiguration()
  const tryBoth = async () => {
    const { version, secrets } = await named('Grafana')
    const added = await send('POST', '/applications/grafana/secrets', undefined, version)
    const { version: next } = await named('Grafana')
    return [added, await send('DELETE', `/applications/grafana/secrets/${secrets[0]?.id}`, undefined, next)]
  }
  expect(await named('Grafana')).toMatchObject({ secretsByFile: true })
  for (const refused of await tryBoth()) expect(refused).toMatchObject({ status: 409, body: { code: 'set_by_file' } })
  await writeFile(file, text(''))
  await latchkey.app.applyConfiguration()
  expect((await tryBoth()).map(({ status }) => status)).toEqual([201, 204])
  const events = await latchkey.sql.query("select distinct ip from events where kind like 'configuration_%'")
  expect(events).toEqual([{ ip: 'configuration file' }])
  const search = await ada.tab.get(`${adminPath}/events?ip=${encodeURIComponent('configuration file')}`)
  expect(search.body.events).not.toEqual([])
})
