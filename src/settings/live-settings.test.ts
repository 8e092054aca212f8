import { expect, it } from 'vitest'
import { type Database, StoreUnavailable } from '../platform/database/database.js'
import { loadConfig } from './config.js'
import { createLiveSettings } from './live-settings.js'

const row = (name: string, value: unknown, file: string | null = null) => ({
  name,
  value,
  changed_by: 'ada',
  changed_at: new Date('2026-06-01T12:00:00Z'),
  set_by_file: file,
})

const withRows = (settings: Record<string, string>, rows: object[]) => {
  const state = { rows, isAway: false }
  const query = async () => {
    if (state.isAway) throw new StoreUnavailable('away')
    return state.rows
  }
  const live = createLiveSettings(loadConfig({ NODE_ENV: 'test', ...settings }), { query } as unknown as Database)
  return { live, state }
}

it('a variable counts more than a file, a file more than the page, and the page more than the default', async () => {
  const rows = [
    row('registration', 'closed', 'latchkey.yaml'),
    row('mailSignIn', 'on'),
    row('secondFactor', 'required'),
  ]
  const { live } = withRows({ SECOND_FACTOR: 'optional' }, rows)
  await live.load()
  expect(live.now()).toEqual({
    registration: 'closed',
    registrationDomains: [],
    mailSignIn: 'on',
    secondFactor: 'optional',
  })
  expect((await live.describe()).map(({ name, setBy }) => [name, setBy])).toEqual([
    ['registration', { file: 'latchkey.yaml' }],
    ['registrationDomains', 'default'],
    ['mailSignIn', { page: 'ada', at: '2026-06-01T12:00:00.000Z' }],
    ['secondFactor', 'environment'],
  ])
})

it('what is known stays while the database is away, and the same object comes until something changes', async () => {
  const { live, state } = withRows({}, [row('registration', 'closed')])
  await live.follow(1)
  const known = live.now()
  expect(live.now()).toBe(known)
  state.isAway = true
  await expect(live.follow(2)).rejects.toThrow('away')
  expect(live.now()).toBe(known)
  state.isAway = false
  state.rows = []
  await live.follow(2)
  expect(live.now().registration).toBe('open')
})

it('a value that only a newer release knows is as if nobody had set it', async () => {
  const { live } = withRows({}, [row('registration', 'by_vote'), row('nameOfTheMoon', 'x')])
  await live.load()
  expect(live.now().registration).toBe('open')
})

it('without mail, registration and sign-in by mail stay off, whatever was stored', async () => {
  const production = { NODE_ENV: 'production', PUBLIC_URL: 'https://auth.example.com' }
  const { live } = withRows(production, [row('registration', 'open'), row('mailSignIn', 'on')])
  await live.load()
  expect(live.now()).toMatchObject({ registration: 'closed', mailSignIn: 'off' })
  expect(live.isFixed('registration')).toBe(true)
})
