import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshPostgres } from '../support/databases.js'
import { runLatchkey } from '../support/program.js'

// Merging two files dissolves an `import()` without a fault of any compiler. What a command and a service that is ready load is written
// down here: packages by their names, and our own code by its size and by texts that only one part of it has, because paths change.

/** Each source file is compiled by itself: the bundle would not say which of its modules were needed. */
const modules = fileURLToPath(new URL('../../dist/modules/', import.meta.url))

const ofEveryCommand = [
  ...['pg', 'pg-connection-string', 'pg-int8', 'pg-pool', 'pg-protocol', 'pg-types', 'postgres-array'],
  ...['postgres-bytea', 'postgres-date', 'postgres-interval', 'xtend'],
  ...['ipaddr.js', 'typebox'],
]
const withDatabase = [
  ...ofEveryCommand,
  ...['@pinojs/redact', 'atomic-sleep', 'on-exit-leak-free', 'pino', 'pino-std-serializers'],
  ...['quick-format-unescaped', 'safe-stable-stringify', 'sonic-boom', 'thread-stream', 'piscina'],
]
const ofService = [
  ...withDatabase,
  ...['@fastify/ajv-compiler', '@fastify/error', '@fastify/fast-json-stringify-compiler', '@fastify/forwarded'],
  ...['@fastify/merge-json-schemas', '@fastify/proxy-addr', 'ajv', 'ajv-formats', 'avvio', 'dequal', 'fastify'],
  ...['fast-decode-uri-component', 'fast-deep-equal', 'fast-json-stringify', 'fast-querystring', 'fast-uri', 'fastq'],
  ...['find-my-way', 'json-schema-ref-resolver', 'json-schema-traverse', 'node-gyp-build', 'process-warning'],
  ...['ret', 'reusify', 'rfdc', 'safe-regex2', 'secure-json-parse', 'semver', 'toad-cache', 'uqr'],
]

const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://auth.example.com',
  JWT_SECRET: 'k3J9x-2mQpLz7Vw8Tn4Rb6Yc1Hd5Sf0Ga.k3J9x-2mQpLz7Vw8Tn4Rb6Yc1Hd5Sf0Gaq8Zx',
}

type Case = { args: string[]; settings: Record<string, string>; packages: readonly string[]; ownBytes: number }

/** `ownBytes`: the size of our own compiled modules that were loaded. A tenth more is allowed. */
const cases = {
  help: { args: ['--help'], settings: {}, packages: ofEveryCommand, ownBytes: 820_000 },
  'user list': { args: ['user', 'list'], settings: {}, packages: withDatabase, ownBytes: 1_430_000 },
  'serve in development': { args: ['serve'], settings: {}, packages: ofService, ownBytes: 1_990_000 },
  'serve in production': { args: ['serve'], settings: production, packages: ofService, ownBytes: 1_990_000 },
  'serve without administrators': {
    args: ['serve'],
    settings: { ...production, ADMIN_GROUP: '' },
    packages: ofService,
    ownBytes: 1_880_000,
  },
} satisfies Record<string, Case>
type CaseName = keyof typeof cases
const names = Object.keys(cases) as CaseName[]

const development: CaseName[] = ['serve in development']
const serving: CaseName[] = ['serve in development', 'serve in production', 'serve without administrators']
const withAdministrators: CaseName[] = ['serve in development', 'serve in production']

/** A part of our code: a text that only its files have, and the cases that may load it. */
const areas: Record<string, { text: RegExp; loadedBy: CaseName[] }> = {
  'routes of users': { text: /"Sign in with a username or an email, and a password"/, loadedBy: serving },
  'routes of administrators': {
    text: /"Everything about a user, and why they cannot sign in"/,
    loadedBy: withAdministrators,
  },
  'development providers': { text: />Development provider</, loadedBy: development },
  'preview of pages and mails': { text: /class="back"><a href="\/dev\/preview"/, loadedBy: development },
  'OpenID tokens': { text: /"An ID token needs the time of a proof, or none"/, loadedBy: [] },
  'sender of logout notices': { text: /"did not accept the connection in time"/, loadedBy: [] },
  'provider by OpenID Connect': { text: /"The answer is not a set of keys"/, loadedBy: [] },
  'provider by GitHub': { text: /"application\/vnd\.github\+json"/, loadedBy: [] },
  'the seed': { text: /"a text of 1 to 63 small letters, digits, hyphens and underscores"/, loadedBy: [] },
  'page of the API document': { text: /#schema-\$\{/, loadedBy: [] },
  metrics: { text: /"Processes of this instance that serve requests\."/, loadedBy: [] },
  Redis: { text: /"Redis did not answer correctly"/, loadedBy: [] },
  'checks of doctor': { text: /"the signing secret was made by the service and is kept in DATA_DIR"/, loadedBy: [] },
  'writing a backup': { text: /"The database has no tables of Latchkey: there is nothing to back up\."/, loadedBy: [] },
  'restoring a backup': { text: /stop every instance of it\. Nothing was restored\./, loadedBy: [] },
  'import of users': { text: /"plain passwords are not imported: give hashes in password_hash"/, loadedBy: [] },
  'building the list of leaked passwords': { text: /shorter than what was written to it"/, loadedBy: [] },
  'estimator of passwords': { text: /@zxcvbn-ts\/core/, loadedBy: [] },
  'service in a test': { text: /"NODE_ENV: a service for tests is not for production"/, loadedBy: [] },
}

/** Every script that V8 has run, in the main thread and in workers: Node writes them when the process ends. */
const scriptsIn = async (folder: string) => {
  const files = await readdir(folder)
  const urls = await Promise.all(
    files.map(async (file) => {
      const { result } = JSON.parse(await readFile(join(folder, file), 'utf8')) as { result: { url: string }[] }
      return result.map(({ url }) => url)
    }),
  )
  return [...new Set(urls.flat())].filter((url) => url.startsWith('file:')).map((url) => fileURLToPath(url))
}

type Loaded = { packages: string[]; own: string[]; bytes: number }

const sorted = (values: Iterable<string>) => [...new Set(values)].sort()

const loadedBy = async ({ args, settings }: Case, databaseUrl: string): Promise<Loaded> => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-loaded-'))
  const coverage = join(folder, 'coverage')
  const given = { ...settings, DATABASE_URL: databaseUrl, DRAIN_DELAY: '0ms', NODE_V8_COVERAGE: coverage }
  const run = runLatchkey(folder, given, args, join(modules, 'main.js'))
  if (args[0] === 'serve') {
    await run.says(/ready at/)
    run.signal('SIGTERM')
  }
  expect(await run.exited, run.output.stderr).toBe(0)
  const scripts = await scriptsIn(coverage)
  await rm(folder, { recursive: true })
  const own = scripts.filter((path) => path.startsWith(modules))
  const texts = await Promise.all(own.map((path) => readFile(path, 'utf8')))
  const packages = scripts.flatMap((path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [])
  return { packages: sorted(packages), own: texts, bytes: texts.reduce((sum, text) => sum + text.length, 0) }
}

let database: FreshDatabase
let loaded: Record<CaseName, Loaded>
beforeAll(async () => {
  database = await freshPostgres()
  const all = await Promise.all(names.map(async (name) => [name, await loadedBy(cases[name], database.url)] as const))
  loaded = Object.fromEntries(all) as Record<CaseName, Loaded>
})
afterAll(() => database.drop())

describe.each(names)('%s', (name) => {
  it('loads these packages and no other', () => {
    expect(loaded[name].packages).toEqual(sorted(cases[name].packages))
  })

  it('loads hardly more of our own code than before', () => {
    expect(loaded[name].bytes).toBeLessThan(cases[name].ownBytes * 1.1)
    expect(loaded[name].bytes).toBeGreaterThan(cases[name].ownBytes * 0.5)
  })

  it('loads no part of our code that it does not need', () => {
    const tooMany = Object.entries(areas).filter(
      ([, { text, loadedBy }]) => !loadedBy.includes(name) && loaded[name].own.some((source) => text.test(source)),
    )
    expect(tooMany.map(([area]) => area)).toEqual([])
  })
})

it('each part is still recognised by its text', async () => {
  const paths = (await readdir(modules, { recursive: true })).filter((path) => path.endsWith('.js'))
  const texts = await Promise.all(paths.map((path) => readFile(join(modules, path), 'utf8')))
  const unknown = Object.entries(areas).filter(([, { text }]) => !texts.some((source) => text.test(source)))
  expect(unknown.map(([area]) => area)).toEqual([])
  for (const [area, { text, loadedBy }] of Object.entries(areas))
    for (const name of loadedBy)
      expect(
        loaded[name].own.some((source) => text.test(source)),
        `${area}, ${name}`,
      ).toBe(true)
})
