import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { useApplication } from '../support/used-applications.js'

let latchkey: Latchkey
let folder: string
const secret = 'a-secret-of-the-wiki-0123456789-abcdef'
const otherSecret = 'the-next-secret-of-the-wiki-0123456789'
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-configuration-'))
  latchkey = await startLatchkey({
    settings: { JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO', ADMIN_GROUP: 'admins' },
  })
})
afterAll(async () => {
  await latchkey.stop()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  await latchkey.sql.query('delete from applications')
  await latchkey.sql.query('delete from resources')
  await latchkey.sql.query('delete from groups')
  await latchkey.sql.query('delete from stored_settings')
})

const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
type RunOptions = Parameters<typeof run>[2]
const command = (args: string[], options?: RunOptions) => run(store, args, options)
const write = async (text: string, name = 'latchkey.yaml') => {
  const path = join(folder, name)
  await writeFile(path, text)
  return path
}
const apply = async (text: string, ...args: string[]) => command(['apply', await write(text), '--yes', ...args])
const planned = async (text: string, ...args: string[]) => {
  const { code, out } = await command(['apply', await write(text), '--plan', '--json', ...args])
  return { code, changes: JSON.parse(out).changes }
}
const shown = async (name: string) => JSON.parse((await command(['application', 'show', name, '--json'])).out)
const eventsSince = async (id: string) =>
  (
    await latchkey.sql.query<{ kind: string; reason: string }>(
      'select kind, reason from events where id > $1 order by id',
      [id],
    )
  ).map(({ kind, reason }) => `${kind}: ${reason}`)
const lastEvent = async () =>
  (await latchkey.sql.query<{ id: string }>('select id from events order by id desc limit 1'))[0]?.id ??
  '00000000-0000-0000-0000-000000000000'
const everything = async () => ({
  applications: await latchkey.sql.query('select * from applications order by id'),
  secrets: await latchkey.sql.query('select * from application_secrets order by id'),
  icons: await latchkey.sql.query('select * from application_icons order by application_id'),
  groups: await latchkey.sql.query('select * from groups order by name'),
  settings: await latchkey.sql.query('select * from stored_settings order by name'),
  events: await latchkey.sql.query('select id from events order by id'),
})

const example = `
groups:
  family: {}
applications:
  Wiki:
    proxy: https://wiki.home.example
    allow: [family]
    open: [/manifest.json, /public/]
  Grafana:
    for: grafana
    id: grafana
    redirect: [https://grafana.home.example/login/generic_oauth]
    backchannelLogout: https://grafana.home.example/logout
    allow: everyone
    factors: 2
    maxAge: 10m
settings:
  registration: invited
`

it('a plan shows what would change, ends with 3 and writes nothing; applied, it ends with 0', async () => {
  const before = await everything()
  const { code, changes } = await planned(example)
  expect(code).toBe(3)
  expect(changes.map(({ kind, name, action }: Record<string, string>) => `${action} ${kind} ${name}`)).toEqual([
    'add group family',
    'add application Wiki',
    'add application Grafana',
    'add setting registration',
  ])
  expect(changes[2].after).toEqual({
    id: 'grafana',
    allow: 'everyone',
    redirect: ['https://grafana.home.example/login/generic_oauth'],
    afterLogout: ['https://grafana.home.example/login'],
    backchannelLogout: 'https://grafana.home.example/logout',
    factors: 2,
    maxAge: '10m',
  })
  expect(await everything()).toEqual(before)
  const text = await command(['apply', await write(example), '--plan'])
  expect(text.out).toContain('+ application Wiki\n    + allow: ["family"]')

  const applied = await apply(example, '--json')
  expect(applied).toMatchObject({ code: 0, err: '' })
  const { changes: written, secrets } = JSON.parse(applied.out)
  expect(written.map(({ name }: { name: string }) => name)).toEqual(['family', 'Wiki', 'Grafana', 'registration'])
  // A site behind a proxy needs none.
  expect(secrets).toEqual({ Grafana: expect.stringMatching(/^[\w-]{43}$/) })
  expect(await shown('Grafana')).toMatchObject({
    id: 'grafana',
    factors: 2,
    maxAge: 600_000,
    pkce: true,
    setByFile: 'latchkey.yaml',
  })
  expect((await command(['application', 'show', 'Wiki'])).out).toMatch(/^set by +latchkey\.yaml$/m)
  expect(await planned(example)).toEqual({ code: 0, changes: [] })
  expect((await apply(example)).out).toBe('Everything is like this already.\n')
})

it('what a file owns is for the file to change: pages and commands refuse', async () => {
  await apply(example)
  const refused = { code: 1, err: expect.stringContaining('is set by latchkey.yaml') }
  expect(await command(['application', 'change', 'Wiki', '--everyone'])).toMatchObject(refused)
  expect(await command(['application', 'delete', 'Wiki', '--yes'])).toMatchObject(refused)
  expect(await command(['group', 'delete', 'family', '--yes'])).toMatchObject(refused)
  // The file does not say which secret it has.
  expect(await command(['application', 'secret', 'add', 'Grafana'])).toMatchObject({ code: 0 })
  expect((await planned(example)).changes).toEqual([])
})

it('what it does not name any more is handed back, or removed with --prune; the rest is left alone', async () => {
  await command(['group', 'add', 'crew'])
  await command(['application', 'add', 'Blog', '--redirect', 'https://blog.example/cb', '--group', 'crew'])
  await apply(example)
  const start = await lastEvent()
  const less = `
groups: {family: {}}
applications:
  Wiki: {proxy: https://wiki.home.example, allow: [family]}
`
  const { changes } = await planned(less)
  expect(changes.map(({ action, name }: Record<string, string>) => `${action} ${name}`)).toEqual([
    'release registration',
    'release Grafana',
    'change Wiki',
  ])
  expect((await apply(less)).code).toBe(0)
  expect(await shown('Grafana')).toMatchObject({ factors: 2 })
  expect(await shown('Grafana')).not.toHaveProperty('setByFile')
  expect(await eventsSince(start)).toEqual([
    expect.stringMatching(/^configuration_released: setting registration \(latchkey/),
    expect.stringMatching(/^configuration_released: application Grafana \(latchkey/),
    expect.stringMatching(/^application_changed: Wiki: open_paths \(latchkey\.yaml, sha256 [\da-f]{16}\)$/),
  ])
  expect(await command(['application', 'change', 'Grafana', '--factors', '1'])).toMatchObject({ code: 0 })
  expect(JSON.parse((await command(['export', '--json'])).out).settings).toEqual({ registration: 'invited' })

  expect((await apply('groups: {}', '--prune', '--json')).code).toBe(0)
  const left = JSON.parse((await command(['export', '--json'])).out)
  expect(Object.keys(left.applications)).toEqual(['Blog', 'Grafana'])
  expect(left.groups).toEqual({ crew: {} })
})

it('a group that has members is never removed by a file', async () => {
  await apply('groups: {family: {}}')
  await latchkey.signedUp('member')
  await command(['user', 'groups', 'member', '--add', 'family'])
  const { changes } = await planned('groups: {}', '--prune')
  expect(changes).toEqual([{ kind: 'group', name: 'family', action: 'release', before: {} }])
  expect((await apply('groups: {}', '--prune')).code).toBe(0)
  expect((await command(['group', 'list'])).out).toContain('family')
  await command(['user', 'groups', 'member', '--remove', 'family'])
})

it('another file takes what it names, and the plan says so', async () => {
  await apply('applications: {Wiki: {proxy: https://wiki.home.example, allow: everyone}}')
  const text = 'applications: {Wiki: {proxy: https://wiki.home.example, allow: everyone}}'
  const path = await write(text, 'other.yaml')
  const plan = await command(['apply', path, '--plan'])
  expect(plan).toMatchObject({ code: 3, out: '~ application Wiki, which was set by latchkey.yaml\n' })
  await command(['apply', path, '--yes'])
  expect(await shown('Wiki')).toMatchObject({ setByFile: 'other.yaml' })
  // The first file, in another folder, is another file only if it has another name.
  expect((await planned('applications: {}')).changes).toEqual([])
})

it('names what the page has made: it is taken over as it is, with its id and its secrets', async () => {
  const added = JSON.parse(
    (await command(['application', 'add', 'Wiki', '--redirect', 'https://wiki.example/cb', '--everyone', '--json']))
      .out,
  )
  const start = await lastEvent()
  const text = 'applications: {Wiki: {redirect: [https://wiki.example/cb], allow: everyone}}'
  expect((await planned(text)).changes).toMatchObject([{ action: 'change', name: 'Wiki' }])
  expect(JSON.parse((await apply(text, '--json')).out).secrets).toEqual({})
  expect(await shown('Wiki')).toMatchObject({ id: added.id, setByFile: 'latchkey.yaml' })
  expect(await eventsSince(start)).toEqual([expect.stringMatching(/^configuration_owned: application Wiki/)])
  const secrets = await latchkey.sql.query('select id from application_secrets where application_id = $1', [added.id])
  expect(secrets).toHaveLength(1)
})

it('an export has everything but secrets, and changes nothing but the owner when it is applied', async () => {
  await apply(example)
  await command([
    'application',
    'add',
    'Mobile',
    '--native',
    '--redirect',
    'http://127.0.0.1/cb',
    '--everyone',
    '--device',
  ])
  const yaml = (await command(['export'])).out
  expect(yaml).not.toContain('secret')
  const names = (await planned(yaml)).changes.map(({ name }: { name: string }) => name)
  expect(names).toEqual(['Mobile'])
  expect((await apply(yaml)).code).toBe(0)
  expect((await command(['export'])).out).toBe(yaml)
  expect((await planned(yaml)).changes).toEqual([])
})

it('a group that is taken from an application ends the tokens of its members', async () => {
  await apply(
    'groups: {family: {}}\napplications: {Wiki: {id: wiki, redirect: [https://w.example/cb], allow: everyone}}',
  )
  const tab = await latchkey.signedUp('user-of-wiki')
  await useApplication(latchkey.sql, tab, 'wiki')
  const start = await lastEvent()
  await apply('groups: {family: {}}\napplications: {Wiki: {redirect: [https://w.example/cb], allow: [family]}}')
  expect(await eventsSince(start)).toEqual([
    expect.stringMatching(/^application_access_ended: Wiki/),
    expect.stringMatching(/^application_changed: Wiki: access, groups/),
  ])
  expect(await latchkey.sql.query('select 1 from application_sessions')).toEqual([])
})

it('secrets come from files and variables, two while one is replaced, and are never printed', async () => {
  await writeFile(join(folder, 'wiki-secret'), `${secret}\n`)
  const text = (given: string) =>
    `applications: {Wiki: {id: wiki, redirect: [https://w.example/cb], allow: everyone, secret: ${given}}}`
  const environment = { NEXT: otherSecret }
  const applied = await command(['apply', await write(text('{ file: wiki-secret }')), '--yes', '--json'], {
    environment,
  })
  expect(applied).toMatchObject({ code: 0 })
  expect(JSON.parse(applied.out).secrets).toEqual({})
  const rights = async () => {
    const { findOwnerOf } = latchkey.app.rooms.applicationSecrets
    return Promise.all([secret, otherSecret].map(async (each) => (await findOwnerOf('wiki'))?.isRight(each)))
  }
  expect(await rights()).toEqual([true, false])
  const both = await write(text('[{ file: wiki-secret }, { env: NEXT }]'))
  const plan = await command(['apply', both, '--plan'], { environment })
  expect(plan.out).toContain('secrets: 1 added, 0 removed')
  await command(['apply', both, '--yes'], { environment })
  expect(await rights()).toEqual([true, true])
  const next = await command(['apply', await write(text('{ env: NEXT }')), '--yes'], { environment })
  expect(await rights()).toEqual([false, true])
  for (const { out, err } of [applied, plan, next])
    expect(out + err).not.toMatch(new RegExp(`${secret}|${otherSecret}`))
  for (const [given, sentence] of [
    ['{ env: MISSING }', 'the variable MISSING is not set'],
    ['{ env: SHORT }', 'must have 32 to 128 letters'],
    ['{ file: nothing-there }', 'Wiki: the file nothing-there cannot be read (there is no such file)'],
    ['[{ env: NEXT }, { env: NEXT }]', 'its two secrets are the same'],
    ['in-the-file', 'secret must be a file or a variable'],
  ] as const) {
    const refused = await command(['apply', await write(text(given)), '--yes'], {
      environment: { ...environment, SHORT: 'too-short-to-be-one' },
    })
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(sentence) })
    expect(refused.err).not.toContain('too-short-to-be-one')
  }
})

it('on a terminal it asks once; what was confirmed is what is written, or nothing', async () => {
  const path = await write(example)
  expect(await command(['apply', path])).toMatchObject({ code: 1, err: expect.stringContaining('Add --yes') })
  const no = await command(['apply', path], { typed: ['no\n'] })
  expect(no).toMatchObject({ code: 1, err: expect.stringContaining('Nothing was changed.') })
  expect(await latchkey.sql.query('select 1 from applications')).toEqual([])
  const yes = await command(['apply', path], { typed: ['yes\n'] })
  expect(yes).toMatchObject({ code: 0, err: expect.stringContaining('+ application Wiki') })
  const { configurationFiles } = latchkey.app.rooms
  const { readConfiguration } = await import('../../src/configuration/read-configuration.js')
  const { liveSettings } = latchkey.app.rooms
  const changed = await readConfiguration(
    { path: await write('groups: {late: {}}') },
    { environment: {}, liveSettings },
  )
  const operator = { ip: 'command line', userAgent: 'test' }
  const options = { prune: false, makesSecrets: true, confirmed: [] }
  await expect(configurationFiles.apply(changed, operator, options)).rejects.toThrow('something else would change')
  expect(await latchkey.sql.query("select 1 from groups where name = 'late'")).toEqual([])
})

it('two instances that apply one file at once make everything once', async () => {
  const path = await write(example)
  const results = await Promise.all(Array.from({ length: 4 }, () => command(['apply', path, '--yes', '--json'])))
  expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0])
  const counts = results.map(({ out }) => JSON.parse(out).changes.length).sort()
  expect(counts).toEqual([0, 0, 0, 4])
  expect(await latchkey.sql.query('select 1 from application_secrets')).toHaveLength(1)
})

it('a file that fails at its end has changed nothing', async () => {
  const before = await everything()
  const text = `${example.replace('settings:', '  Blog: {redirect: [http://blog.example/cb], allow: everyone}\nsettings:')}`
  expect(await apply(text)).toMatchObject({ code: 1, err: expect.stringContaining('does not begin with https://') })
  expect(await everything()).toEqual(before)
})

const wiki = (more: string) =>
  `applications:\n  Wiki:\n    proxy: https://w.example\n    allow: everyone\n    ${more}\n`

it.each([
  ['', 'the file is empty'],
  ['{}', 'the file is empty'],
  ['# nothing\n', 'the file is empty'],
  ['[]', 'line 1: the file must be an object'],
  ['groups: {}\n---\ngroups: {}', 'more than one document'],
  ['group: {}', 'line 1: the file has the key "group", which is not known. Did you mean groups?'],
  [wiki('opens: [/x]'), 'line 5: applications.Wiki has the key "opens", which is not known. Did you mean open?'],
  ['applications:\n  Wiki: {proxy: https://w.example}', 'line 2: applications.Wiki has no allow'],
  ['applications:\n  Wiki:\n', 'line 2: applications.Wiki must be an object'],
  ['applications:\n', 'line 1: applications must be an object'],
  [wiki('factors: "2"'), 'line 5: applications.Wiki.factors must be 1 or 2'],
  [wiki('noTokens: yes'), 'line 5: applications.Wiki.noTokens must be true or false'],
  [wiki('maxAge: 600'), 'line 5: applications.Wiki.maxAge must be a time such as 10m'],
  [wiki('redirect: https://w.example/cb'), 'line 5: applications.Wiki.redirect must be a list of addresses'],
  [wiki('allow: everyone'), 'line 5: the key "allow" is there a second time'],
  ['{"groups": {"a": {}, "a": {}}}', 'line 1: the key "a" is there a second time'],
  ['groups: {Family: {}}', 'line 1: "Family" cannot be a name in groups: it must be 1 to 32 small letters'],
  ['groups: {family: {members: [ada]}}', 'groups.family has the key "members", which is not known'],
  [wiki('home: !!str https://w.example/'), 'line 5: tags (!name) are not possible here'],
  ['groups: !set {a: {}}', 'line 1: tags (!name) are not possible here'],
  ['%YAML 1.1\n---\ngroups: {}', 'line 1: directives (%YAML) are not possible here'],
  ['x: &x {a: {}}\ngroups: {}', 'line 1: anchors (&name) are not possible here'],
  ['groups: *x', 'line 1: aliases (*name) are not possible here'],
  ['groups: {<<: {a: {}}}', 'line 1: merge keys (<<) are not possible here'],
  ['groups: {__proto__: {}}', 'cannot be a name in groups'],
  ['groups: {? [a] : {}}', 'line 1: a key must be a text'],
  ['groups: {', 'line 1:'],
  ['groups: "\\ud800"', 'half of a character'],
  [`groups: ${'['.repeat(60_000)}`, 'nested too deeply'],
  [wiki('id: Wiki'), 'line 5: applications.Wiki.id must be 1 to 63 small letters'],
  [wiki('device: true'), 'applications.Wiki: Only an application of the kind native can have the device flow.'],
  [
    wiki('device: true\n    noDevice: true'),
    'line 3: applications.Wiki has device and noDevice: take one of them away',
  ],
  [wiki('noDevice: false'), 'line 5: applications.Wiki.noDevice must be true, or not there'],
  [wiki('for: grafana'), 'applications.Wiki: grafana needs the address at which users open it'],
  ['applications: {Wiki: {redirect: [https://w.example/cb], allow: [nobodies]}}', 'There is no group nobodies'],
  [
    'applications: {A: {proxy: https://w.example, allow: everyone}, a: {proxy: https://v.example, allow: everyone}}',
    'line 1: applications.a has the same name as applications.A',
  ],
  [
    'applications: {A: {proxy: https://w.example, allow: everyone}, B: {proxy: https://w.example, allow: everyone}}',
    'Another application has the address https://w.example',
  ],
  ['settings: {registration: nobody}', 'settings.registration must be open, invited or closed'],
  ['settings: {registrationDomains: ["a,b.example"]}', 'settings.registrationDomains must be a list of domains'],
  ['settings: {mailSignIn: true}', 'settings.mailSignIn must be on or off'],
  ['settings: {port: 3000}', 'settings has the key "port", which is not known'],
])('the file %j is refused with its line, and changes nothing', async (text, sentence) => {
  const before = await everything()
  const refused = await apply(text)
  expect(refused).toMatchObject({ code: 1, out: '', err: expect.stringContaining(sentence) })
  expect(refused.err).toContain('latchkey.yaml')
  expect(await everything()).toEqual(before)
})

it('a file of many anchors costs no time and no memory', async () => {
  const levels = Array.from({ length: 30 }, (_, at) => `l${at + 1}: &l${at + 1} [${Array(9).fill(`*l${at}`).join()}]`)
  const began = performance.now()
  expect(await apply(['l0: &l0 [lol]', ...levels].join('\n'))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/anchors|aliases/),
  })
  expect(performance.now() - began).toBeLessThan(10_000)
})

it('a file of more than 1 MB is not read, and one that is gone is said to be', async () => {
  const big = await apply(`groups: {}\n#${'x'.repeat(1_000_001)}`)
  expect(big).toMatchObject({ code: 1, err: expect.stringContaining('larger than 1 MB') })
  const gone = await command(['apply', join(folder, 'gone.yaml'), '--yes'])
  expect(gone).toMatchObject({
    code: 1,
    err: expect.stringContaining('the file cannot be read (there is no such file)'),
  })
})

it('a file that changes while it is read is refused', async () => {
  const { readWhole } = await import('../../src/configuration/document.js')
  const path = await write(`groups: {}\n#${'x'.repeat(900_000)}`, 'changing.yaml')
  let isDone = false
  const writer = (async () => {
    while (!isDone) await writeFile(path, `groups: {a: {}}\n#${'y'.repeat(Math.floor(Math.random() * 900_000))}`)
  })()
  try {
    const refusal = await (async () => {
      for (let attempt = 0; attempt < 2_000; attempt += 1) {
        const fault = await readWhole(path).then(
          () => undefined,
          (error: unknown) => String(error),
        )
        if (fault !== undefined) return fault
      }
      return 'never refused'
    })()
    expect(refusal).toContain('the file has changed while it was read: try again')
  } finally {
    isDone = true
    await writer
  }
})

it('an icon is a small PNG: no script, no other type, and of 20 MB only the beginning is read', async () => {
  const text = (icon: string) =>
    `applications: {Wiki: {id: wiki, proxy: https://w.example, allow: everyone, icon: ${icon}}}`
  await writeFile(join(folder, 'icon.png'), png)
  await writeFile(join(folder, 'script.svg'), '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  await writeFile(join(folder, 'script.png'), Buffer.concat([png.subarray(0, 30), Buffer.from('<script>'), png]))
  await writeFile(join(folder, 'cut.png'), png.subarray(0, 40))
  await writeFile(join(folder, 'huge.png'), Buffer.alloc(20_000_000))
  for (const [icon, sentence] of [
    ['script.svg', 'is no whole PNG'],
    ['cut.png', 'is no whole PNG'],
    ['huge.png', 'has more than 32 KB'],
    ['gone.png', 'cannot be read (there is no such file)'],
    ['.', 'cannot be read (it is a folder)'],
  ] as const) {
    expect(await apply(text(icon))).toMatchObject({ code: 1, err: expect.stringContaining(sentence) })
  }
  expect(await latchkey.sql.query('select 1 from applications')).toEqual([])
  expect((await apply(text('icon.png'))).code).toBe(0)
  const icons = () => latchkey.sql.query('select 1 from application_icons')
  expect(await icons()).toHaveLength(1)
  expect((await planned(text('icon.png'))).changes).toEqual([])
  // Left out, it stays; and `none` removes it.
  expect((await planned('applications: {Wiki: {proxy: https://w.example, allow: everyone}}')).changes).toEqual([])
  expect((await planned(text('none'))).changes).toMatchObject([{ icon: 'removed' }])
  await apply(text('none'))
  expect(await icons()).toEqual([])
})

it('id and kind cannot change', async () => {
  await apply('applications: {Wiki: {id: wiki, redirect: [https://w.example/cb], allow: everyone}}')
  for (const [more, sentence] of [
    ['id: other', 'its id is wiki, and cannot change'],
    ['kind: browser', 'its kind is web, and cannot change'],
  ] as const) {
    const text = `applications: {Wiki: {${more}, redirect: [https://w.example/cb], allow: everyone}}`
    expect(await apply(text)).toMatchObject({ code: 1, err: expect.stringContaining(sentence) })
  }
  const taken = 'applications: {Other: {id: wiki, redirect: [https://o.example/cb], allow: everyone}}'
  expect(await apply(taken)).toMatchObject({ code: 1, err: expect.stringContaining('has the id wiki') })
})

it('`noDevice: true` is the same as `device: false`, and an export writes `device`', async () => {
  const file = (line: string) =>
    `applications:\n  Tool: { kind: native, redirect: ["http://127.0.0.1/cb"], allow: everyone${line} }\n`
  expect((await apply(file(', noDevice: true'))).code).toBe(0)
  for (const same of ['', ', device: false', ', noDevice: true']) expect((await planned(file(same))).code).toBe(0)
  expect((await apply(file(', device: true'))).code).toBe(0)
  expect((await command(['export'])).out).toContain('device: true')
  const { changes } = await planned(file(', noDevice: true'))
  expect(changes).toMatchObject([{ name: 'Tool', action: 'change', before: { device: true } }])
  expect(changes[0].after).not.toHaveProperty('device')
  expect(changes[0].after).not.toHaveProperty('noDevice')
  expect((await apply(file(', noDevice: true'))).code).toBe(0)
  expect((await command(['export'])).out).not.toMatch(/device/i)
})

it('a resource is added, exported, owned, changed, handed back and removed like the others', async () => {
  const file = (scopes: string, more = '') =>
    `groups:\n  family: {}\nresources:\n  Wiki tools: { address: https://mcp.home.example/mcp/../mcp, scopes: { ${scopes} }, allow: [family]${more} }\n`
  const first = await apply(file('read: Read pages, write:'), '--json')
  expect(JSON.parse(first.out).changes[1]).toEqual({
    kind: 'resource',
    name: 'Wiki tools',
    action: 'add',
    after: {
      address: 'https://mcp.home.example/mcp',
      allow: ['family'],
      scopes: { read: 'Read pages', write: null },
    },
  })
  const exported = await command(['export'])
  expect(exported.out).toContain('address: https://mcp.home.example/mcp')
  expect((await planned(file('read: Read pages, write:'))).code).toBe(0)
  // The order is that in which users are asked.
  expect((await planned(file('write: , read: Read pages'))).code).toBe(3)
  const byHand = await command(['resource', 'change', 'Wiki tools', '--everyone'])
  expect([byHand.code, byHand.err]).toEqual([1, expect.stringContaining('set by latchkey.yaml')])
  expect((await command(['resource', 'delete', 'Wiki tools', '--yes'])).code).toBe(1)
  expect((await apply(file('read: Read', ', algorithm: RS256'))).code).toBe(0)
  expect(JSON.parse((await command(['resource', 'show', 'Wiki tools', '--json'])).out)).toMatchObject({
    algorithm: 'RS256',
    scopes: [{ name: 'read', description: 'Read' }],
    setBy: { file: 'latchkey.yaml' },
  })
  for (const [wrong, sentence] of [
    ['resources:\n  Wiki tools: { address: https://other.example/mcp, allow: everyone }\n', 'cannot change'],
    ['resources:\n  Other: { address: "https://a.example/?x=1", allow: everyone }\n', 'has a query'],
    [
      'resources:\n  Other: { address: https://a.example, allow: everyone, scopes: { openid: Who } }\n',
      'The scope openid',
    ],
    ['resources:\n  Other: { address: https://a.example, allow: [nobody] }\n', 'there is no group nobody'],
    ['resources:\n  Other: { address: https://a.example, allow: everyone, scope: [a] }\n', 'Did you mean scopes?'],
    ['resources:\n  Other: { allow: everyone }\n', 'has no address'],
    ['resources:\n  Other: { address: https://mcp.home.example/mcp, allow: everyone }\n', 'has this address'],
  ] as const) {
    const { code, err } = await apply(wrong)
    expect([code, err]).toEqual([1, expect.stringContaining(sentence)])
  }
  expect((await apply('groups:\n  family: {}\n', '--json')).out).toContain('"release"')
  expect((await command(['resource', 'change', 'Wiki tools', '--everyone'])).code).toBe(0)
  await apply(file('read: Read'))
  expect(JSON.parse((await apply('groups:\n  family: {}\n', '--prune', '--json')).out).changes).toEqual([
    expect.objectContaining({ kind: 'resource', action: 'remove' }),
  ])
  expect((await command(['resource', 'list', '--json'])).out.trim()).toBe('')
})

it('a program that came with a document is in no export, and no file removes it', async () => {
  await apply(example)
  await latchkey.sql.query(
    `insert into applications (id, name, home, kind, document, redirect_addresses, access, consent, pkce, algorithm, created_at, set_by_file)
     values ('copy', 'Wiki', 'https://program.example/', 'document', 'https://program.example/client', '{https://program.example/callback}', 'everyone', 'ask', true, 'ES256', now(), 'latchkey.yaml')`,
  )
  expect((await command(['export'])).out).not.toContain('program.example')
  expect((await planned(example)).changes).toEqual([])
  expect((await apply('groups: {}\n', '--prune')).code).toBe(0)
  expect(await latchkey.sql.query('select id from applications')).toMatchObject([{ id: 'copy' }])
})
