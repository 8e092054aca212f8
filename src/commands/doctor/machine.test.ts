import { randomBytes } from 'node:crypto'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { days } from '../../lib/durations.js'
import { newServiceKey } from '../../programs/service-keys.js'
import { loadConfig, secretFilesIn } from '../../settings/config.js'
import { runCheck } from './check.js'
import { machineChecks } from './machine.js'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-machine-'))
})
afterAll(() => rm(folder, { recursive: true }))

const found = async (name: string, settings: Record<string, string>, secretFiles: string[] = []) => {
  const check = machineChecks(loadConfig(settings), secretFiles).checks.find((each) => each.name === name)
  const finding = check && (await runCheck(check))
  return finding && `${finding.level}: ${finding.says}`
}

it('a secret that the service takes is fine for doctor too: one in thirty of openssl lacks a digit', async () => {
  const secret = '123456789abcdef0'.repeat(6).replaceAll('0', '7').replace('123', '921')
  const config = loadConfig({ JWT_SECRET: `${secret.slice(0, 50)}fe${secret.slice(3, 47)}` })
  const check = machineChecks(config).checks.find(({ name }) => name === 'secrets')
  expect(check && (await runCheck(check))).toMatchObject({ level: 'ok' })
})

it('warns of service keys that have expired or soon will', async () => {
  const file = join(folder, 'keys')
  const inDays = (count: number) => ({ expiresAt: new Date(Date.now() + count * days) })
  const check = machineChecks(loadConfig({ SERVICE_KEYS_FILE: file })).checks.find(
    ({ name }) => name === 'service keys',
  )
  const findingWith = async (...keys: { line: string }[]) => {
    await writeFile(file, keys.map(({ line }) => line).join('\n'))
    return check && runCheck(check)
  }
  const fine = [newServiceKey('always'), newServiceKey('later', inDays(15))]
  expect(await findingWith(...fine)).toMatchObject({ level: 'ok', says: expect.stringMatching(/^2 keys in /) })
  const expiring = await findingWith(...fine, newServiceKey('soon', inDays(13)), newServiceKey('old', inDays(-1)))
  expect(expiring).toMatchObject({
    level: 'warning',
    says: expect.stringMatching(/: soon expires \(.*\), old has expired \(/),
  })
})

it('reads the theme, and names a pair of colours that cannot be read', async () => {
  const path = join(folder, 'theme.json')
  const checked = async (light: object) => {
    await writeFile(path, JSON.stringify({ light }))
    return found('theme', { THEME_FILE: path })
  }
  expect(await checked({ accent: '#7a1f5c' })).toBe(`ok: ${path} can be used, and its colours can be read`)
  expect(await checked({ muted: '#aaaaaa' })).toMatch(
    /^error: THEME_FILE: light\.muted \(#aaaaaa\) on light\.background .* 4\.5:1 \(.*json\)$/,
  )
})

it('reads the words of the operator, and names the place of a fault', async () => {
  const path = join(folder, 'words.json')
  const checked = async (pages: object) => {
    await writeFile(path, JSON.stringify({ de: { pages } }))
    return found('words', { WORDS_FILE: path })
  }
  expect(await checked({ 'login.heading': 'Grüezi' })).toBe(`ok: 1 text in ${path}`)
  expect(await checked({ 'common.continueWith': 'Weiter' })).toBe(
    `error: WORDS_FILE: de.pages["common.continueWith"] lacks the placeholder {provider} (${path})`,
  )
})

it('warns of a secret that other users can read or change, unless its folder is closed to them', async () => {
  const path = join(folder, 'jwt_secret')
  await writeFile(path, 'secret')
  const judged = async (folderMode: number, fileMode: number) => {
    await chmod(folder, folderMode)
    await chmod(path, fileMode)
    return found('secret files', {}, [path])
  }
  const fine = 'ok: 1 file closed to other users'
  expect([await judged(0o700, 0o666), await judged(0o755, 0o640)]).toEqual([fine, fine])
  const advice = `by every user of this machine: make the service's user its owner, and \`chmod o= ${path}\``
  expect(await judged(0o755, 0o644)).toBe(`warning: ${path} can be read ${advice}`)
  expect(await judged(0o755, 0o666)).toBe(`warning: ${path} can be read and changed ${advice}`)
})

it('knows the files of secret settings, from a folder or named one by one', () => {
  const env = { JWT_SECRET_FILE: '/run/secrets/jwt_secret', DATABASE_URL_FILE: '', SERVICE_KEYS_FILE: '/keys' }
  expect(secretFilesIn({ ...env, PROVIDERS: 'okta', PROVIDER_OKTA_CLIENT_SECRET_FILE: '/okta' })).toEqual([
    '/run/secrets/jwt_secret',
    '/okta',
  ])
})

it.each([
  [{ PUBLIC_URL: 'https://localhost' }, /^warning: .*TRUST_PROXY is not set/],
  [{ PUBLIC_URL: 'https://localhost', TRUST_PROXY: 'none' }, /^ok: no proxy is trusted/],
  [{ TRUST_PROXY: '10.1.2.3' }, /^ok: .*10\.1\.2\.3 only/],
])('judges the trust in proxies: %o', async (settings, expected) => {
  expect(await found('proxy', settings)).toMatch(expected)
})

it('counts the secrets and the threads, and looks at who can read the kept secret', async () => {
  const secrets = [randomBytes(48).toString('hex'), randomBytes(48).toString('hex')]
  const [secret = ''] = secrets
  expect(await found('secrets', { JWT_SECRET: secrets.join() })).toBe(
    'ok: the first of 2 signs, 1 other still verifies; at least 96 characters each',
  )
  expect(await found('secrets', { JWT_SECRET: secret })).toBe('ok: one secret of 96 characters')
  expect(await found('secrets', { JWT_SECRET: `${secret},${secret}` })).toBe(
    'warning: JWT_SECRET names one secret twice',
  )
  expect(await found('threads', { WORKER_THREADS: '64' })).toMatch(/^warning: WORKER_THREADS is 64 on/)
  await mkdir(join(folder, 'secrets'), { mode: 0o755 })
  expect(await found('data directory', { DATA_DIR: folder })).toMatch(/^warning: .*chmod 700/)
  await rm(join(folder, 'secrets'), { recursive: true })
})
