import { execFileSync } from 'node:child_process'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { adminPath } from '#contract/admin/admin-bodies.js'
import { signedUpInGroup } from '../support/administrators.js'
import { freshPostgres } from '../support/databases.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { until } from '../support/until.js'

let folder: string
let path: string
let latchkey: Latchkey
let other: Latchkey
const text = (more = '') => `
groups: {family: {}}
applications:
  Wiki: {id: wiki, redirect: [https://wiki.example/cb], allow: [family]}
${more}`
const jwtSecret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-at-start-'))
  path = join(folder, 'latchkey.yaml')
  await writeFile(path, text('settings: {registration: closed}'))
  const settings = { CONFIGURATION_FILE: path, ADMIN_GROUP: 'admins', JWT_SECRET: jwtSecret }
  latchkey = await startLatchkey({ settings })
  other = await startLatchkey({ settings: { ...settings, DATABASE_URL: latchkey.config.databaseUrl ?? '' } })
  await until('both instances are ready', () => latchkey.app.isReady() && other.app.isReady())
})
afterAll(async () => {
  await other.stop()
  await latchkey.stop()
  await rm(folder, { recursive: true })
})

/** As an editor or a volume does it: whole, or not at all. */
const replace = async (content: string) => {
  await writeFile(`${path}.new`, content)
  await rename(`${path}.new`, path)
}
const kinds = async () =>
  (
    await latchkey.sql.query<{ kind: string }>("select kind from events where kind like 'configuration_%' order by id")
  ).map(({ kind }) => kind)
const attentionOf = async (tab: { get(url: string): Promise<{ body: Record<string, unknown> }> }) => {
  const { attention } = (await tab.get(`${adminPath}/overview`)).body as {
    attention: { code: string; message: string }[]
  }
  return attention
}
const mayRegister = async ({ browser }: Latchkey) => {
  const form = { username: 'new', email: 'new@example.com', password: 'violet-Harbor-91-lantern' }
  return (await browser().post('/api/auth/register', form)).status === 202
}

it('two instances apply the file at their start, and everything is there once and counts from the first request', async () => {
  expect(await latchkey.sql.query('select name, set_by_file from applications')).toEqual([
    { name: 'Wiki', set_by_file: 'latchkey.yaml' },
  ])
  expect(await latchkey.sql.query("select 1 from events where kind = 'application_added'")).toHaveLength(1)
  expect(await kinds()).toEqual(['configuration_applied'])
  expect(await mayRegister(latchkey)).toBe(false)
  expect(await mayRegister(other)).toBe(false)
})

it('no secret is made where nobody would see it: the log and the administrators are told', async () => {
  expect(await latchkey.sql.query('select 1 from application_secrets')).toEqual([])
  expect(latchkey.logLines.join('')).toContain('these applications have no secret')
  const root = await signedUpInGroup(latchkey, 'root1', 'admins')
  expect(await attentionOf(root.tab)).toMatchObject([{ code: 'application_without_secret', count: 1 }])
})

it('a file that cannot be applied keeps everything as it was; the log, an event and the administrators say why', async () => {
  const root = await signedUpInGroup(latchkey, 'root2', 'admins')
  const before = await latchkey.sql.query('select * from applications')
  for (const wrong of [text('settings: {registration: nobody}'), text('settings: {registration: nobody}')]) {
    await replace(wrong)
    await latchkey.app.applyConfiguration()
    await other.app.applyConfiguration()
  }
  expect(await latchkey.sql.query('select * from applications')).toEqual(before)
  expect(await mayRegister(latchkey)).toBe(false)
  const sentence = 'settings.registration must be open, invited or closed'
  expect(latchkey.logLines.join('')).toContain(sentence)
  // One event, however many processes have tried it.
  expect((await kinds()).filter((kind) => kind === 'configuration_refused')).toHaveLength(1)
  expect(await attentionOf(root.tab)).toContainEqual(
    expect.objectContaining({ code: 'configuration_refused', message: expect.stringContaining(sentence) }),
  )
  await rm(path)
  await latchkey.app.applyConfiguration()
  expect(await latchkey.sql.query('select * from applications')).toEqual(before)
  await replace(text('settings: {registration: closed}'))
  await latchkey.app.applyConfiguration()
  expect((await attentionOf(root.tab)).map(({ code }) => code)).not.toContain('configuration_refused')
  expect((await kinds()).at(-1)).toBe('configuration_applied')
})

it('what it does not name any more is handed back and never removed; every instance follows within two seconds', async () => {
  const root = await signedUpInGroup(latchkey, 'root3', 'admins')
  await replace('groups: {}\nsettings: {registration: open}')
  await latchkey.app.applyConfiguration()
  expect(await mayRegister(latchkey)).toBe(true)
  await until('the other instance follows', () => mayRegister(other), 5_000)
  expect((await other.browser().get('/login')).text).toContain('"registration":"open"')
  expect(await latchkey.sql.query('select name, set_by_file from applications')).toEqual([
    { name: 'Wiki', set_by_file: null },
  ])
  expect(await attentionOf(root.tab)).toContainEqual(
    expect.objectContaining({ code: 'configuration_released', count: 2 }),
  )
  expect(latchkey.logLines.join('')).toContain('does not name these any more')
})

it('a service starts with a file that cannot be applied, reads it again on SIGHUP, and counts both', async () => {
  const database = await freshPostgres()
  const file = join(folder, 'started.yaml')
  await writeFile(file, 'applications: {Wiki: {redirect: [https://wiki.example/cb]}}')
  const metricsPort = String(20_000 + Math.floor(Math.random() * 20_000))
  const run = runLatchkey(folder, {
    DATABASE_URL: database.url,
    JWT_SECRET: jwtSecret,
    CONFIGURATION_FILE: file,
    WIKI: 'a-secret-of-the-wiki-0123456789-abcdef',
    METRICS_PORT: metricsPort,
    DRAIN_DELAY: '0ms',
  })
  const counted = async (outcome: string) => {
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const line = new RegExp(`^latchkey_configuration_files_total\\{outcome="${outcome}"\\} (\\d+)$`, 'm')
    return Number(line.exec(text)?.[1] ?? 0)
  }
  try {
    await run.ready()
    expect(run.output.stdout).toContain('applications.Wiki has no allow')
    expect([await counted('refused'), await counted('applied')]).toEqual([1, 0])
    await writeFile(
      file,
      'applications: {Wiki: {redirect: [https://wiki.example/cb], allow: everyone, secret: {env: WIKI}}}',
    )
    run.signal('SIGHUP')
    await run.says(/the configuration file was applied/)
    expect(run.output.stdout).not.toContain('a-secret-of-the-wiki')
    expect([await counted('refused'), await counted('applied')]).toEqual([1, 1])
    // A file that is wrong after a start is counted too, and everything stays as it was.
    await writeFile(file, 'applications: {Wiki: {allow: everyone, alow: everyone}}')
    run.signal('SIGHUP')
    await run.says(/Did you mean allow/)
    expect([await counted('refused'), await counted('applied')]).toEqual([2, 1])
    run.signal('SIGTERM')
    expect(await run.exited).toBe(0)
  } finally {
    await run.stop()
    await database.drop()
  }
})

it('a file that cannot be read without end stops neither the start nor the end of the service', async () => {
  const database = await freshPostgres()
  const fifo = join(folder, 'fifo')
  execFileSync('mkfifo', [fifo])
  const settings = { DATABASE_URL: database.url, JWT_SECRET: jwtSecret, DRAIN_DELAY: '0ms' }
  const run = runLatchkey(folder, { ...settings, CONFIGURATION_FILE: fifo })
  // Nothing gives up reading this one, so the process has to end while it is read.
  const hanging = runLatchkey(folder, { ...settings, SERVICE_KEYS_FILE: fifo, DATA_DIR: join(folder, 'other') })
  try {
    await hanging.says(/starting/)
    await run.ready()
    expect(run.output.stdout).toContain('it is a pipe or a device and no regular file')
    run.signal('SIGTERM')
    expect(await run.exited).toBe(0)
    hanging.signal('SIGTERM')
    await hanging.says(/shutdown took too long/)
    const ended = hanging.exited.then(() => true)
    expect(await Promise.race([ended, wait(5_000).then(() => false)])).toBe(true)
  } finally {
    await run.stop()
    await hanging.stop()
    await database.drop()
  }
}, 60_000)
