import { access, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { eventKinds } from '#contract/events.js'
import { fieldTypes } from '#contract/profile-fields.js'
import { refusalCodes } from '#contract/refusals.js'
import { rooms } from '../../scripts/rooms.mjs'
import { programNames } from '../../src/applications/program-settings.js'
import { commandNames } from '../../src/commands/commands.js'
import { roles } from '../../src/platform/own-postgres/cluster.js'
import { readFieldDefinitions } from '../../src/users/field-definitions.js'
import { anchorsIn, knownMetrics, metricsNamedIn, read } from '../support/project.js'
import { openPostgresStore } from '../support/stores.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const exists = (path: string) =>
  access(join(home, path)).then(
    () => true,
    () => false,
  )

const guides = (await readdir(new URL('../../docs', import.meta.url))).filter((name) => name.endsWith('.md')).sort()
const linksIn = (text: string) => [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target)

/** A second heading of the same name has another address: a link would lead to the first. */
const isNamedOnce = (anchors: string[], anchor: string) => anchors.filter((each) => each === anchor).length === 1

const others = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md', 'deploy/README.md'],
  ...['bench/README.md', 'bench/results.md', 'test/promises.md', 'examples/README.md', 'examples/spa/README.md'],
  ...['client', 'service', 'testing', 'verify'].map((name) => `packages/${name}/README.md`),
]

describe.each([...others, ...guides.map((name) => `docs/${name}`)])('%s', (guide) => {
  it('links to files and headings that are there', async () => {
    const links = linksIn(await read(guide)).filter((link) => !link.startsWith('https://'))
    const broken = await Promise.all(
      links.map(async (link) => {
        const [path = '', anchor] = link.split('#')
        const file = path === '' ? guide : join(dirname(guide), path)
        if (!(await exists(file))) return [link]
        if (anchor === undefined) return []
        return isNamedOnce(await anchorsIn(file), anchor) ? [] : [link]
      }),
    )
    expect(broken.flat()).toEqual([])
  })
})

/** Files of frameworks and of examples, which are not ours. */
const ofOthers = ['src/hooks.server.ts', 'src/middleware.ts', 'src/x.ts', 'migrations/NNNN-name.sql']
const filePath =
  /\b(?:src|web|packages|test|deploy|scripts|bench|examples|migrations)\/[\w./@-]+\.(?:tsx?|mjs|sql|conf|cfg|ya?ml|json|sh)\b/g

it.each([...others.filter((name) => name !== 'CHANGELOG.md'), ...guides.map((name) => `docs/${name}`)])(
  '%s names files that are there',
  async (guide) => {
    const named = [...new Set((await read(guide)).match(filePath) ?? [])].filter((path) => !ofOthers.includes(path))
    const found = await Promise.all(named.map(exists))
    expect(named.filter((_, at) => !found[at])).toEqual([])
  },
)

it('the plan of the house names modules and folders that are there', async () => {
  // `sign-in/sign-ins.byPassword` is a function of a module, and `src/users/` a folder.
  const folders = Object.keys(rooms).join('|')
  const parts = new RegExp(`(?<=\`)(?:src/|(?=(?:${folders})/))([\\w-]+/[\\w/-]*)(?:\\.(?!test|tsx?)\\w+)*(?=\`)`, 'g')
  const named = [...new Set([...(await read('ARCHITECTURE.md')).matchAll(parts)].map(([, path = '']) => path))]
  const isThere = async (path: string) =>
    (await exists(`src/${path}`)) || (await exists(`src/${path}.ts`)) || (await exists(`src/${path}.routes.ts`))
  const found = await Promise.all(named.map(isThere))
  expect(named.filter((_, at) => !found[at])).toEqual([])
  expect(named.length).toBeGreaterThan(20)
})

it('the plan of the house lists every trigger', async () => {
  const [, section = ''] = /\n## The triggers\n(.*?)\n## /s.exec(await read('ARCHITECTURE.md')) ?? []
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  const named = rows.flatMap((row) => row.split(' | ')[0]?.match(/(?<=`)[a-z_]+(?=`)/g) ?? [])
  const { database, drop } = await openPostgresStore()
  const triggers = await database.query<{ name: string }>(
    'select distinct tgname as name from pg_trigger where not tgisinternal',
  )
  await drop()
  expect(named.sort()).toEqual(triggers.map(({ name }) => name).sort())
})

/** Code inside of sentences and tables, of all guides that are written by hand. */
const codeInGuides = async () => {
  const texts = await Promise.all([...others, ...guides.map((name) => `docs/${name}`)].map(read))
  const written = texts.filter((text) => !/^# (?:Configuration|Changelog)$/m.test(text))
  return written.flatMap((text) => text.replaceAll(/^```.*?^```$/gms, '').match(/`[^`\n]+`/g) ?? [])
}

describe('all guides together', () => {
  it('name only settings that exist', async () => {
    const reference = await read('docs/configuration.md')
    /** Of Node, of the tests, of the image's build, and of guides that use them as examples. */
    const notOurs =
      /^(?:APP_PORTS|APP_URL|COMPOSE_FILE|DBSC_BROWSER|CLIENT_(?:ID|SECRET)|LATCHKEY_(?:ID|IMAGE|ISSUER|PORT|SECRET|URL)|NEXTAUTH_\w+|ACCOUNT_LINKING|SESSION_LIFE_TIME|NODE_EXTRA_CA_CERTS|OLD_DATABASE_URL|POSTGRES_FROM|TRUST_EMAIL|(?:FAULT|KILL)_ROUNDS|(?:FUZZ|TEST|PROVIDER)_\w+)$/
    const named = new Set(
      (await codeInGuides()).flatMap((code) => code.match(/(?<!\w)[A-Z]+(?:_[A-Z]+)+(?!\w)/g) ?? []),
    )
    expect(named.size).toBeGreaterThan(40)
    expect([...named].filter((name) => !notOurs.test(name) && !reference.includes(`\`${name}\``))).toEqual([])
  })

  it('name only commands that exist', async () => {
    const named = (await codeInGuides()).flatMap((code) => {
      const [, command] = /^`latchkey ([a-z][a-z -]*[a-z])/.exec(code) ?? []
      return command === undefined ? [] : [command]
    })
    expect(named.length).toBeGreaterThan(50)
    const isKnown = (command: string) => commandNames.some((name) => `${command} `.startsWith(`${name} `))
    expect(named.filter((command) => !isKnown(command))).toEqual([])
  })
})

describe('the list of guides', () => {
  it('has every guide, and the first page of the project links to it', async () => {
    const listed = linksIn(await read('docs/README.md'))
    expect(guides.filter((name) => name !== 'README.md' && !listed.includes(name))).toEqual([])
    expect(linksIn(await read('README.md'))).toContain('docs/README.md')
  })

  it('has every guide that the code, the deployment files and the packages name', async () => {
    const folders = ['src', 'deploy', 'packages', 'examples', 'scripts', 'test', 'migrations']
    const paths = await Promise.all(
      folders.map(async (folder) => {
        const files = await readdir(new URL(`../../${folder}`, import.meta.url), { recursive: true })
        return files.filter((file) => !/node_modules|dist|secrets/.test(file)).map((file) => `${folder}/${file}`)
      }),
    )
    const texts = await Promise.all(paths.flat().map((path) => read(path).catch(() => '')))
    const named = new Set(texts.flatMap((text) => text.match(/\bdocs\/[\w-]+\.md\b/g) ?? []))
    expect([...named].filter((path) => !guides.includes(path.slice('docs/'.length)))).toEqual([])
    expect(named.size).toBeGreaterThan(5)
  })
})

it('the first page starts a protected application as the guide does, whose commands are tested', async () => {
  const [, commands = ''] = /## Five minutes.*?```sh\n(.*?)```/s.exec(await read('README.md')) ?? []
  expect(commands.split('\n').length).toBeGreaterThan(3)
  expect(await read('docs/forward-auth.md')).toContain(commands)
})

it('the sample of profile fields is one that the service takes, with every type', async () => {
  const sample = readFieldDefinitions(JSON.parse(await read('docs/samples/profile-fields.json')))
  expect(new Set(sample.map(({ type }) => type))).toEqual(new Set(fieldTypes))
})

describe('the guide for trouble', () => {
  it('says of every code what to do', async () => {
    const [, table = ''] = (await read('docs/troubleshooting.md')).split('## By code')
    const rows = table.split('\n').filter((line) => line.startsWith('| `'))
    const named = rows.flatMap((row) => row.split(' | ')[0]?.match(/(?<=`)[a-z_]+(?=`)/g) ?? [])
    expect(named.sort()).toEqual([...refusalCodes].sort())
    expect(rows.filter((row) => (row.split(' | ')[1] ?? '').length < 10)).toEqual([])
  })
})

describe('the guides for applications', () => {
  it('say what to do about each error that an application is given', async () => {
    const sources = ['openid/authorize/request-steps', 'http/errors']
    const texts = await Promise.all(sources.map((name) => read(`src/${name}.ts`)))
    const errors = texts.flatMap((text) => [...text.matchAll(/^ {2}\| '([a-z_]+)'$/gm)].map(([, error = '']) => error))
    const [, section = ''] = /\n\| error \| cause \|\n(.*?)\n\n/s.exec(await read('docs/applications.md')) ?? []
    const named = section.split('\n').flatMap((row) => row.split(' | ')[0]?.match(/(?<=`)[a-z_]+(?=`)/g) ?? [])
    expect(named.sort()).toEqual([...new Set(errors)].sort())
    expect(errors.length).toBeGreaterThan(15)
  })

  it('have a row for every program whose lines the command prints', async () => {
    const named = [...(await read('docs/applications.md')).matchAll(/^\|[^|]+\| `--for (\w+)`/gm)].map(
      ([, name]) => name,
    )
    expect(named).toEqual(programNames)
  })
})

describe('the guide for operators', () => {
  it('names only metrics that exist', async () => {
    const existing = knownMetrics()
    const named = [...metricsNamedIn(await read('docs/operating.md'))].filter((name) => name !== roles.owner)
    expect(named.filter((name) => !existing.includes(name) && !existing.includes(`${name}_count`))).toEqual([])
    expect(named.length).toBeGreaterThan(2)
  })

  it('names only kinds of events that exist', async () => {
    const [, section = ''] = /\n## Kinds of events\n(.*?)\n## /s.exec(await read('docs/operating.md')) ?? []
    const rows = section.split('\n').filter((line) => line.startsWith('| `'))
    const named = rows.flatMap((row) => row.split(' | ')[0]?.match(/(?<=`)[a-z_]+(?=`)/g) ?? [])
    const existing: readonly string[] = eventKinds
    expect(named.filter((kind) => !existing.includes(kind))).toEqual([])
    expect(named.length).toBeGreaterThan(10)
  })

  it('quotes the log word for word', async () => {
    const files = (await readdir(new URL('../../src', import.meta.url), { recursive: true })).filter((file) =>
      file.endsWith('.ts'),
    )
    const source = (await Promise.all(files.map((file) => read(`src/${file}`)))).join('\n')
    const quoted = [...(await read('docs/operating.md')).matchAll(/“([^”]+)”/g)].map(([, message = '']) => message)
    expect(quoted.filter((message) => !source.includes(message))).toEqual([])
    expect(quoted.length).toBeGreaterThan(10)
  })
})

describe('the promises', () => {
  it('each name their test, or say that there is none', async () => {
    const rows = (await read('test/promises.md'))
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (?:promise|fault) /.test(line))
      .map((line) => line.split(' | '))
    expect(rows.length).toBeGreaterThan(50)
    for (const [promise = '', where = ''] of rows)
      expect(/\.test\.ts\)/.test(where), promise).toBe(!where.startsWith('not tested'))
  })
})
