import { expect, it } from 'vitest'
import { later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import type { Database } from '../platform/database/database.js'
import { createAttention } from './attention.js'

const now = new Date('2026-06-01T12:00:00Z')
const quiet = { count: async () => ({ waiting: 0, givenUp: 0 }), oldestWaitSeconds: async () => 0 }
const oldKey = (algorithm: 'ES256' | 'RS256', age: number) => [
  { id: `${algorithm}-1`, algorithm, state: 'current' as const, signsFrom: later(now, -age), trustedUntil: undefined },
  { id: `${algorithm}-2`, algorithm, state: 'unopened' as const, signsFrom: now, trustedUntil: undefined },
]

type Dependencies = Parameters<typeof createAttention>[0]

const attentionOf = (overrides: Partial<Dependencies>) =>
  createAttention({
    database: { query: async () => [] } as unknown as Database,
    clock: { now: () => now, offset: () => 0 },
    webhooks: { ...quiet, stoppedSince: async () => undefined },
    logoutNotices: quiet,
    signingKeys: { list: async () => [] },
    applicationKeys: { list: async () => [] },
    clockOffsetSeconds: () => 0,
    freeSpace: async () => undefined,
    configurationFile: undefined,
    ...overrides,
  })()

it('names a code once, whatever the number of algorithms', async () => {
  const applicationKeys = { list: async () => [...oldKey('ES256', 95 * days), ...oldKey('RS256', 120 * days)] }
  expect(await attentionOf({ applicationKeys } as Partial<Dependencies>)).toEqual([
    {
      code: 'application_key_unreadable',
      message:
        '2 keys for ID tokens cannot be opened with the SEALING_KEY of this instance. Give every instance the same SEALING_KEY.',
      count: 2,
    },
    {
      code: 'application_key_due',
      message: '2 keys for ID tokens should have been replaced after 90 days. `latchkey keys rotate` makes a new one.',
      since: later(now, -120 * days),
    },
  ])
})

it('counts one webhook in the singular', async () => {
  const webhooks = {
    count: async () => ({ waiting: 1, givenUp: 1 }),
    oldestWaitSeconds: async () => 16 * 60,
    stoppedSince: async () => undefined,
  }
  expect((await attentionOf({ webhooks })).map(({ message }) => message)).toEqual([
    '1 webhook was given up. `latchkey webhooks list` says why, and `latchkey webhooks retry` sends them again.',
    '1 webhook waits, the oldest for more than 15 minutes. `latchkey webhooks list` says why.',
  ])
})

it('warns of a disk with less than a gigabyte', async () => {
  expect(await attentionOf({ freeSpace: async () => 1_000_000_000 })).toEqual([])
  expect(await attentionOf({ freeSpace: async () => 999_999_999 })).toMatchObject([
    { code: 'disk_nearly_full', count: 999, message: expect.stringContaining('has 999 MB left') },
  ])
})
