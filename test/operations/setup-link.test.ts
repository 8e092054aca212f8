import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { checkAdministrators } from '../../src/commands/doctor/accounts.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'

import { addAuthenticator } from '../support/authenticator.js'
import { createBrowser } from '../support/client.js'
import { freshPostgres } from '../support/databases.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { runLatchkey } from '../support/program.js'
import { addPeople } from '../support/site/site.js'
import { latchkey as run } from '../support/terminal.js'

const account = { username: 'ada', email: 'ada@example.com', password: goodPassword }
const linkAt = (url: string) => new RegExp(`${url}/api/auth/setup#token=([\\w-]{43})`)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-setup-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const withService = async (settings: Record<string, string>, work: (latchkey: Latchkey) => Promise<void>) => {
  const latchkey = await startLatchkey({ settings })
  await work(latchkey).finally(latchkey.stop)
}
const commandOf =
  ({ config }: Latchkey) =>
  (...args: string[]) =>
    run({ openRooms: (role) => openRoomsForCommand(config, role) }, args)

it('a start logs one link while there is no user, which makes the first account; the next start logs none', async () => {
  const { url, drop } = await freshPostgres()
  const start = () =>
    runLatchkey(folder, { NODE_ENV: 'test', DATABASE_URL: url, REDIS_URL: process.env.TEST_REDIS_URL ?? '' })
  const first = start()
  const address = await first.ready()
  await first.says(/setup:/)
  const lines = first.output.stdout.split('\n').filter((line) => line.includes('#token='))
  expect(lines).toHaveLength(1)
  const { level, msg } = JSON.parse(lines[0] ?? '{}')
  expect([level, msg]).toEqual(['info', expect.stringMatching(linkAt(address))])
  expect(msg).toMatch(/^setup: /)
  const token = linkAt(address).exec(msg)?.[1]
  const tab = createBrowser(address)
  expect((await tab.post('/api/auth/setup', { token, ...account })).status).toBe(201)
  await first.stop()

  const second = start()
  await second.ready()
  await second.stop()
  expect(second.output.stdout).not.toContain('setup:')
  await drop()
})

it('a start with users and no administrator says how to make the first one', async () => {
  const { url, drop } = await freshPostgres()
  const settings = { NODE_ENV: 'test', DATABASE_URL: url, REDIS_URL: process.env.TEST_REDIS_URL ?? '' }
  await addPeople(url, ['bea'])
  const service = runLatchkey(folder, settings)
  const [line] = await service.says(/setup: there are users, and none is an administrator.*/)
  await service.stop()
  for (const part of ['latchkey group add admins', 'latchkey user groups USER --add admins', 'ADMIN_GROUP=admins'])
    expect(line).toContain(part)
  await drop()
})

it('setup-link prints a link that works, and nothing else; with a user it ends with 1 and says what to do', () =>
  withService({ ADMIN_GROUP: 'chiefs' }, async (latchkey) => {
    const command = commandOf(latchkey)
    const { code, out, err } = await command('setup-link')
    expect([code, err]).toEqual([0, ''])
    expect(out.trim()).toMatch(linkAt(latchkey.url))
    const token = linkAt(latchkey.url).exec(out)?.[1]
    await latchkey.signedUp('bea')
    const over = await command('setup-link')
    expect([over.code, over.out]).toEqual([1, ''])
    expect(over.err).toContain('latchkey user groups USER --add chiefs')
    const late = await latchkey.browser().post('/api/auth/setup', { token, ...account })
    expect([late.status, late.body.code]).toEqual([410, 'already_set_up'])
  }))

it('an import ends the links', () =>
  withService({}, async (latchkey) => {
    const command = commandOf(latchkey)
    const token = linkAt(latchkey.url).exec((await command('setup-link')).out)?.[1]
    const openStore = {
      openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role),
    }
    const input = 'email,username\nbea@example.com,bea\n'
    expect((await run(openStore, ['user', 'import', '-'], { input })).code).toBe(0)
    expect(await latchkey.sql.query('select 1 from setup_tokens')).toEqual([])
    const late = await latchkey.browser().post('/api/auth/setup', { token, ...account })
    expect(late.body.code).toBe('already_set_up')
  }))

it('doctor names the group that the setup has made, and who is missing in it', () =>
  withService({}, async (latchkey) => {
    const says = async () => {
      const { level, says: text } = await checkAdministrators(latchkey.sql, latchkey.config)
      return `${level}: ${text}`
    }
    const [, token] = linkAt(latchkey.url).exec((await commandOf(latchkey)('setup-link')).out) ?? []
    const tab = latchkey.browser()
    await tab.post('/api/auth/setup', { token, ...account })
    expect(await says()).toMatch(/^warning: no member of administrators \(made by the setup\) has a second factor/)
    await addAuthenticator(tab, latchkey)
    expect(await says()).toBe('ok: administrators has 1 member, 1 with a second factor')
    await latchkey.sql.query(`update users set groups = '{}'`)
    expect(await says()).toMatch(/^warning: no user who can sign in is in administrators/)
  }))
