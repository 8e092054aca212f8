import { afterAll, beforeAll, expect, it } from 'vitest'
import { createApplicationErrors } from '../../src/applications/application-errors.js'
import { quoted } from '../../src/applications/applications.js'

import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { addApplication } from '../support/applications.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (...args: string[]) => run(store, args)

beforeAll(async () => {
  latchkey = await startLatchkey({
    settings: { JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO' },
  })
})
afterAll(() => latchkey.stop())

it('the last errors of each kind are kept, each written once a minute at most, and none is lost', async () => {
  const application = await addApplication(latchkey, { name: 'Clumsy' })
  const { id } = application
  const { clock, sql: database } = latchkey
  const errors = createApplicationErrors({ database, clock, log: latchkey.app.log })
  const list = async () => (await errors.list(id)).errors
  const messages = async () => (await list()).map(({ message }) => message)
  errors.note(application, 'grant', 'first')
  errors.note(application, 'grant', 'first')
  await until('the error is written', async () => (await list()).length === 1)
  expect(await list()).toMatchObject([{ message: 'first', count: 1 }])
  clock.advance(30_000)
  const before = clock.now()
  errors.note(application, 'grant', 'first')
  const after = clock.now()
  clock.advance(30_000)
  errors.start()
  await until('the others are counted, without another one', async () => (await list())[0]?.count === 3)
  const seenAt = (await list())[0]?.seenAt.getTime()
  expect(seenAt).toBeGreaterThanOrEqual(before.getTime())
  expect(seenAt).toBeLessThanOrEqual(after.getTime())
  for (let at = 1; at <= 6; at += 1) {
    clock.advance(30_000)
    errors.note(application, 'grant', `error ${at}`)
    await until('it is written', async () => (await messages())[0] === `error ${at}`)
  }
  const own = ['error 2', 'error 3', 'error 4', 'error 5', 'error 6']
  await until('the oldest are gone', async () => (await list()).length === own.length)
  expect((await messages()).toSorted()).toEqual(own)
  // What anybody can cause crowds out nothing of another kind, and is written no more often than it is kept.
  for (let at = 1; at <= 40; at += 1) {
    clock.advance(1)
    errors.note(application, 'redirect_address', `flood ${at}`)
  }
  errors.note(application, 'client', 'The secret is wrong')
  for (let at = 1; at <= 2; at += 1) errors.note(application, 'normal_end', 'access_denied')
  const flood = ['flood 38', 'flood 39', 'flood 40']
  await errors.stop()
  const all = ['The secret is wrong', ...own, ...flood]
  expect((await messages()).toSorted()).toEqual(all)
  expect((await errors.list(id)).normalEnds).toMatchObject([{ count: 2 }])
  const { out } = await command('application', 'show', 'Clumsy')
  expect(out).toMatch(/^Last errors:$/m)
  expect(out).toMatch(/ 1x +error 6$/m)
  expect(out.indexOf('access_denied')).toBeGreaterThan(out.indexOf('which is no error:'))
  errors.note({ id: 'no such application', name: 'Nobody' }, 'grant', 'is not written and harms nobody')
  await command('application', 'delete', 'Clumsy')
})

it('values in errors are cut, and nothing in them can be obeyed', () => {
  expect(quoted('https://a.example/')).toBe('`https://a.example/`')
  expect(quoted('a\u001b[2J`\u202eé\n')).toBe('`a?[2J????`')
  expect(quoted('x'.repeat(300))).toBe(`\`${'x'.repeat(200)}…\``)
})
