import { createSecretKey } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createMovableClock } from '../../test/support/clock.js'
import { days } from '../lib/durations.js'
import { createKnownDevices } from './known-devices.js'

const [older, newer] = [createSecretKey(Buffer.alloc(32, 1)), createSecretKey(Buffer.alloc(32, 2))]
const clock = createMovableClock()
const devices = createKnownDevices({ keys: [newer, older], clock })
const [ada, bob] = [
  { id: '01980000-0000-7000-8000-000000000001', undoCount: 0 },
  { id: '01980000-0000-7000-8000-000000000002', undoCount: 0 },
]

describe('the value of a known device', () => {
  it('belongs to one account, and to the browser that has it', () => {
    const values = devices.remember(ada, [])
    expect(values.map((value) => value.length)).toEqual([43])
    expect(devices.find(ada, values)).toMatch(/^[0-9a-f]{32}$/)
    expect(devices.find(bob, values)).toBeUndefined()
    expect(devices.find(ada, [])).toBeUndefined()
  })

  it('means nothing once a character of it is changed or missing', () => {
    const [value = ''] = devices.remember(ada, [])
    // The last character has two bits that stand for nothing.
    for (const at of Array.from({ length: 42 }, (_, index) => index)) {
      const altered = value.slice(0, at) + (value[at] === 'A' ? 'B' : 'A') + value.slice(at + 1)
      expect(devices.find(ada, [altered])).toBeUndefined()
    }
    expect(devices.find(ada, [value.slice(1), `${value}AAAA`, '', value.slice(0, 20)])).toBeUndefined()
  })

  it('is accepted under an older secret, and not under one that is gone', () => {
    const before = createKnownDevices({ keys: [older], clock }).remember(ada, [])
    expect(devices.find(ada, before)).toBeDefined()
    expect(createKnownDevices({ keys: [newer], clock }).find(ada, before)).toBeUndefined()
  })

  it('is replaced at each sign-in of its account, and those of four other accounts stay', () => {
    const ids = Array.from({ length: 6 }, (_, at) => ({ id: `01980000-0000-7000-8000-00000000001${at}`, undoCount: 0 }))
    const values = ids.reduce<readonly string[]>((kept, id) => devices.remember(id, kept), [])
    expect(ids.map((id) => devices.find(id, values) !== undefined)).toEqual([false, true, true, true, true, true])
    const again = devices.remember(ids[2] ?? ada, values)
    expect(again).toHaveLength(5)
    expect(devices.find(ids[2] ?? ada, again)).not.toBe(devices.find(ids[2] ?? ada, values))
  })

  it('changes at each sign-in, and still says which browser it is', () => {
    const first = devices.remember(ada, [])
    clock.advance(1 * days)
    const second = devices.remember(ada, first)
    expect(devices.find(ada, second)).not.toBe(devices.find(ada, first))
    expect(devices.browserKey(ada, first)).toMatch(/^[0-9a-f]{12}$/)
    expect(devices.browserKey(ada, second)).toBe(devices.browserKey(ada, first))
    expect(devices.browserKey(ada, devices.remember(ada, []))).not.toBe(devices.browserKey(ada, first))
    expect(devices.browserKey(bob, first)).toBeUndefined()
  })

  it('means nothing once the account was taken back', () => {
    const before = devices.remember(ada, [])
    const after = devices.remember({ ...ada, undoCount: 1 }, before)
    expect([0, 1, 2].map((undoCount) => devices.find({ ...ada, undoCount }, before) !== undefined)).toEqual([
      true,
      false,
      false,
    ])
    expect(devices.find({ ...ada, undoCount: 1 }, after)).toBeDefined()
  })

  it('expires after a year', () => {
    const values = devices.remember(ada, [])
    clock.advance(364 * days)
    expect(devices.find(ada, values)).toBeDefined()
    clock.advance(2 * days)
    expect(devices.find(ada, values)).toBeUndefined()
  })
})
