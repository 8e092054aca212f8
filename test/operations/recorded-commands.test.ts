import { PassThrough, Writable } from 'node:stream'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runCommand } from '../../src/commands/commands.js'
import { type CommandStore, openCommandStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'
import { until } from '../support/until.js'

let store: CommandStore
beforeAll(async () => {
  store = await openCommandStore()
})
afterAll(() => store.drop())

const reasonsOf = async (kind: string) =>
  (await store.database.query<{ reason: string }>('select reason from events where kind = $1', [kind])).map(
    ({ reason }) => reason,
  )

it('an export is recorded before its first row, so that a closed pipe hides nothing', async () => {
  const closed = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'EPIPE' })),
  })
  const [stdin, stderr] = [new PassThrough(), new PassThrough()]
  const { openRooms } = store
  const context = {
    stdin,
    stdout: closed,
    stderr,
    environment: {},
    envFileRemarks: [],
    settings: async () => ({}),
    openRooms,
  }
  expect(await runCommand(['user', 'export', '--with-password-hashes'], context)).toBe(0)
  expect(await reasonsOf('users_exported')).toContain('all users with password hashes')
})

it('an import can be interrupted: what was added stays, and is recorded', async () => {
  const addresses = Array.from({ length: 1_200 }, (_, number) => `u${number}@example.com\n`)
  const interruptedAfter = until(
    'a batch is written',
    async () => (await store.database.query('select 1 from users')).length > 0,
  )
  const { code, out, err } = await latchkey(store, ['user', 'import', '-'], {
    input: `email\n${addresses.join('')}`,
    interruptedAfter,
  })
  expect({ code, out, err }).toEqual({
    code: 130,
    out: expect.stringContaining('Added 1,000 users; 0 existed already; 0 rows were refused.\n'),
    err: 'Interrupted: run the same command again to import the rest.\n',
  })
  expect(await reasonsOf('users_imported')).toContain('1000 added, 0 existed, 0 refused')
})
