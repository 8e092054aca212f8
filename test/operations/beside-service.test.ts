import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import bcrypt from 'bcrypt'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openRoomsForCommand, settingsFor } from '../../src/commands/open-for-commands.js'

import { loadConfig } from '../../src/settings/config.js'
import { runLatchkey } from '../support/program.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

const password = 'a-Rather-1-long-phrase'
const cost = 10

// One service on a database of its own for all of them, as after `npm start`.
let folder: string
let elsewhere: string
let address: string
let service: ReturnType<typeof runLatchkey>

/** Where the operator works: another folder, with no setting but that of the data. */
const startCommand = (...args: string[]) =>
  spawn(process.execPath, [main, ...args], {
    cwd: elsewhere,
    env: { PATH: process.env.PATH ?? '', DATA_DIR: folder },
    stdio: ['pipe', 'pipe', 'pipe'],
  })

const program = async (args: string[], input = '') => {
  const child = startCommand(...args)
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  child.stdin.end(input)
  const [out, err, code] = await Promise.all([text(child.stdout), text(child.stderr), closed])
  return { code, out, err }
}

/** The same in this process, which is none of the service either: a process for each command takes a core second. */
const command = (args: string[], input = '') => {
  const environment = { DATA_DIR: folder }
  const settings = () => settingsFor(environment)
  const openTheirs = {
    openRooms: async (role: 'service role' | 'table owner') => openRoomsForCommand(loadConfig(await settings()), role),
  }
  return latchkey(openTheirs, args, { input, environment, settings })
}

const login = (name: string) =>
  fetch(`${address}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: address },
    body: JSON.stringify({ username: name, password }),
  })

/** With any of these the start would fail, or use what belongs to the application. */
const ofAnApplication = `NODE_ENV=development
DATABASE_URL="file:./dev.db"
JWT_SECRET=secret
SESSION_MAX_AGE=86400000
LATCHKEY_PRODUCT_NAME=Acme
`
const leftToTheApplication =
  'not taken from .env, because other programs use these names too: DATABASE_URL, JWT_SECRET, NODE_ENV, SESSION_MAX_AGE. ' +
  'For Latchkey write LATCHKEY_DATABASE_URL, LATCHKEY_JWT_SECRET, LATCHKEY_NODE_ENV, LATCHKEY_SESSION_MAX_AGE'

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-beside-'))
  elsewhere = join(folder, 'elsewhere')
  await mkdir(elsewhere)
  await writeFile(join(folder, 'keys'), '')
  await writeFile(join(folder, '.env'), ofAnApplication)
  service = runLatchkey(folder, { SERVICE_KEYS_FILE: 'keys', BCRYPT_COST: String(cost) })
  address = await service.ready()
})
afterAll(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

const locks = async () => (await readdir(folder)).filter((name) => name.includes('.lock-'))

const cookieOf = (answer: Response) =>
  answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')

it('leaves the .env of an application alone, and says so at the start and in the doctor', async () => {
  expect(service.output.stdout).toContain('taken from .env: LATCHKEY_PRODUCT_NAME\n')
  expect(service.output.stdout).toContain(leftToTheApplication)
  expect(await (await fetch(`${address}/login`)).text()).toContain('Acme')
  await writeFile(join(elsewhere, '.env'), ofAnApplication)
  const { out } = await program(['doctor'])
  await rm(join(elsewhere, '.env'))
  expect(out).toMatch(/^ok +settings +taken from .env: LATCHKEY_PRODUCT_NAME$/m)
  expect(out).toContain(leftToTheApplication)
})

it('a command adds a user who can sign in at once, and disables one whom the service then refuses', async () => {
  // With a hash: to judge a password, a command loads the dictionaries, which takes most of a core second.
  const hash = await bcrypt.hash(password, cost)
  await writeFile(join(elsewhere, 'users.csv'), `email,username,password_hash\nada@example.com,ada,${hash}\n`)
  const added = await program(['user', 'import', 'users.csv'])
  expect(added).toMatchObject({ code: 0, out: expect.stringContaining('Added 1 user') })
  const signedIn = await login('ada')
  expect(signedIn.status).toBe(200)
  const headers = { cookie: cookieOf(signedIn) }
  const check = async () => (await fetch(`${address}/api/auth/verify`, { headers })).status
  expect(await check()).toBe(204)

  const shown = await command(['user', 'show', 'ada', '--json'])
  expect(JSON.parse(shown.out)).toMatchObject({ username: 'ada', sessions: [{}] })
  expect((await command(['user', 'disable', 'ada'])).out).toBe('Disabled ada; ended 1 session.\n')
  await until('the service refuses the token', async () => (await check()) === 401)
  expect((await login('ada')).status).not.toBe(200)
  expect(await command(['user', 'enable', 'ada'])).toMatchObject({ code: 0 })
})

it('commands have the settings of the service: its address in links, and its files', async () => {
  const invited = await command(['invite', 'bob@example.com', '--json'])
  expect(new URL(JSON.parse(invited.out).link).origin).toBe(address)
  const mailbox = async () => (await fetch(`${address}/dev/mailbox`)).text()
  await until('the service has sent the mail', async () => (await mailbox()).includes('bob@example.com'))

  const key = await command(['service-key', 'add', 'billing'])
  expect(key).toMatchObject({ code: 0, err: expect.stringMatching(/^A running service .*\n$/) })
  expect(await readFile(join(folder, 'keys'), 'utf8')).toMatch(/^billing [\da-f]{64}\n$/)
  expect((await command(['events', '--kind', 'service_key_added'])).out).toContain('billing')
})

it('what a command shows once is shown to its caller, and is not in the log of the service', async () => {
  expect((await command(['group', 'add', 'staff'])).out).toBe('Made the group staff.\n')
  const redirect = 'http://127.0.0.1:1/callback'
  const added = await command(['application', 'add', 'Wiki', '--redirect', redirect, '--group', 'staff', '--json'])
  const { secret, issuer } = JSON.parse(added.out)
  const discovery = `${issuer}/.well-known/openid-configuration`
  await until('the service knows the application', async () => (await fetch(discovery)).status === 200)
  expect(secret).toMatch(/\S{20}/)
  expect(service.output.stdout + service.output.stderr).not.toContain(secret)
})

it('an import reads standard input, one that is killed changes nothing, and an export writes what is there', async () => {
  // More than one batch.
  const many = Array.from({ length: 1_001 }, (_, number) => `u${number}@example.com`)
  const imported = await command(['user', 'import', '-', '--json'], `email,groups\n${many.join(',staff\n')},staff\n`)
  expect(JSON.parse(imported.out)).toMatchObject({ added: many.length, refused: 0 })
  const checked = await command(['doctor'])
  expect(checked.out).toMatch(
    /warning +registration +users who have no password, no provider and no passkey: 1001\. While/,
  )
  expect(checked.out).toMatch(/^ok +applications +1 application, whose addresses can be used$/m)
  expect(checked.out).toMatch(/^ok +logout notices +no logout notice waits for an application$/m)
  const child = startCommand('user', 'import', '-')
  const gone = new Promise((resolve) => child.once('close', resolve))
  child.stdin.write('email\nkilled@example.com\n')
  child.kill('SIGKILL')
  await gone
  expect((await login('ada')).status).toBe(200)
  const exported = await command(['user', 'export'])
  const emails = exported.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).email)
  expect(emails).toEqual(expect.arrayContaining(['ada@example.com', ...many]))
  expect(emails).not.toContain('killed@example.com')
})

it('several commands at once, and requests between them, all get their turn', async () => {
  const names = ['one', 'two']
  const [signedIn, ...made] = await Promise.all([login('ada'), ...names.map((name) => command(['group', 'add', name]))])
  expect(signedIn.status).toBe(200)
  expect(made.map(({ code, err }) => [code, err])).toEqual(names.map(() => [0, '']))
})

it('a migration finds nothing to do', async () => {
  expect((await command(['migrate'])).out).toMatch(/^Nothing to apply/)
})

it('only the user of the service may use its socket, which a killed service leaves behind without harm', async () => {
  const [socket = ''] = await locks()
  expect((await stat(join(folder, socket))).mode & 0o777).toBe(0o600)
  await service.stop()
  expect(await locks()).toEqual([socket])
  // Without a service, a command that comes second waits for the first.
  const lists = await Promise.all([command(['group', 'list']), command(['group', 'list'])])
  for (const { out } of lists) expect(out).toContain('staff')
  expect(await locks()).toEqual([])
})
