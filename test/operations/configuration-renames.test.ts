import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { startWithFiles } from '../support/configuration-files.js'

let files: Awaited<ReturnType<typeof startWithFiles>>
beforeAll(async () => {
  files = await startWithFiles()
})
afterAll(() => files.stop())
beforeEach(() => files.clear())

const refused = (sentence: string) => ({ code: 1, out: '', err: expect.stringContaining(sentence) })
const actions = async (text: string, ...args: string[]) =>
  (await files.planned(text, ...args)).map(({ action, name }) => `${action} ${name}`)

it.each([
  [
    'the site of a proxy',
    'applications: {Wiki: {proxy: https://w.example, allow: everyone}}',
    'applications: {Handbook: {proxy: https://w.example, allow: everyone}}',
    'Another application has the address https://w.example.',
  ],
  [
    'an id',
    'applications: {Wiki: {id: wiki, redirect: [https://w.example/cb], allow: everyone}}',
    'applications: {Handbook: {id: wiki, redirect: [https://w.example/cb], allow: everyone}}',
    'Another application has the id wiki.',
  ],
  [
    'the address of a resource',
    'resources: {Wiki: {address: https://w.example/mcp, allow: everyone}}',
    'resources: {Handbook: {address: https://w.example/mcp, allow: everyone}}',
    'The resource Wiki has this address',
  ],
])(
  'with --prune, another name takes over %s in one step; without, the refusal says how',
  async (_, old, renamed, why) => {
    expect(await files.apply(old)).toMatchObject({ code: 0 })
    expect(await files.apply(renamed)).toMatchObject(refused(why))
    expect(await files.apply(renamed)).toMatchObject(refused('--prune removes it first'))
    expect(await actions(renamed, '--prune')).toEqual(['remove Wiki', 'add Handbook'])
    expect(await files.apply(renamed, '--prune')).toMatchObject({ code: 0 })
    expect(await files.planned(renamed, '--prune')).toEqual([])
  },
)

it('a group goes after the applications that named it, which name another one by now', async () => {
  const text = (group: string) =>
    `{groups: {${group}: {}}, applications: {Wiki: {proxy: https://w.example, allow: [${group}]}}}`
  await files.apply(text('family'))
  expect(await actions(text('crew'), '--prune')).toEqual(['add crew', 'change Wiki', 'remove family'])
  expect(await files.apply(text('crew'), '--prune')).toMatchObject({ code: 0 })
  expect((await files.command(['group', 'list'])).out).not.toContain('family')
})

it('two applications swap their sites, and a new one takes the site that another leaves', async () => {
  const text = (one: string, two: string, more = '') =>
    `applications: {${more}One: {id: one, proxy: https://${one}.example, allow: everyone}, Two: {proxy: https://${two}.example, allow: everyone}}`
  await files.apply(text('a', 'b'))
  expect(await files.apply(text('b', 'a'))).toMatchObject({ code: 0 })
  expect(await files.shown('One')).toMatchObject({ id: 'one', proxyOrigin: 'https://b.example' })
  expect(await files.shown('Two')).toMatchObject({ proxyOrigin: 'https://a.example' })
  const more = 'New: {proxy: https://a.example, allow: everyone}, '
  expect(await files.apply(text('b', 'c', more))).toMatchObject({ code: 0 })
  expect(await files.shown('New')).toMatchObject({ proxyOrigin: 'https://a.example' })
  expect(await files.planned(text('b', 'c', more))).toEqual([])
})

it('ids and addresses of resources are never swapped, and the refusal says what does not change', async () => {
  const text = (one: string, two: string) =>
    `{applications: {One: {id: ${one}, proxy: https://a.example, allow: everyone}, Two: {id: ${two}, proxy: https://b.example, allow: everyone}}}`
  await files.apply(text('a', 'b'))
  expect(await files.apply(text('b', 'a'))).toMatchObject(refused('applications.One: its id is a, and cannot change'))
  const resources = (one: string, two: string) =>
    `{resources: {One: {address: https://${one}.example, allow: everyone}, Two: {address: https://${two}.example, allow: everyone}}}`
  await files.apply(resources('a', 'b'))
  expect(await files.apply(resources('b', 'a'))).toMatchObject(refused('its address is https://a.example, and cannot'))
})

it('another spelling of a name is the same thing, with its id and its secrets, and gets the new spelling', async () => {
  const text = (name: string, more = '') =>
    `applications: {"${name}": {redirect: [https://w.example/cb], allow: everyone}${more}}`
  await files.apply(text('Café'))
  const { id } = await files.shown('Café')
  for (const name of ['CAFÉ', 'Cafe\u0301', 'Ｃafé']) {
    const [change, ...others] = await files.planned(text(name))
    expect(others).toEqual([])
    expect(change).toMatchObject({ action: 'change', name, after: { name } })
    expect(await files.apply(text(name), '--prune')).toMatchObject({ code: 0 })
    expect(await files.planned(text(name))).toEqual([])
    expect(await files.shown('café')).toMatchObject({ id, name, secrets: [{}] })
  }
  const both = text('Café', ', "Cafe\u0301": {redirect: [https://v.example/cb], allow: everyone}')
  expect(await files.apply(both)).toMatchObject(refused('has the same name as applications.Café'))
  const add = (name: string) =>
    files.command(['application', 'add', name, '--redirect', 'https://v.example/cb', '--everyone'])
  expect(await add('Cafe\u0301')).toMatchObject(refused('Another application has this name'))
  await files.apply('resources: {Café: {address: https://c.example, allow: everyone}}')
  const resource = ['resource', 'add', 'https://d.example', '--name', 'CAFE\u0301', '--everyone']
  expect(await files.command(resource)).toMatchObject({ code: 1 })
})
