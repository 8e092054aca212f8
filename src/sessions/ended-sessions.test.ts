import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { minutes } from '../lib/durations.js'
import { uuidv7 } from '../lib/uuid.js'
import { createEndedList } from './ended-sessions.js'

const start = new Date('2026-03-01T12:00:00Z').getTime()

const createList = () => {
  let time = start
  const list = createEndedList(() => time)
  return {
    ...list,
    at: (milliseconds: number) => {
      time = start + milliseconds
    },
  }
}

describe('the list of ended sessions', () => {
  it('refuses every token of an ended session, and no other session, however alike their ids are', () => {
    const list = createList()
    const sid = '0190c0de-1234-7abc-8def-0123456789ab'
    expect(list.has(sid, 0)).toBe(false)
    list.add({ sid, minGeneration: null })
    expect([list.has(sid, 0), list.has(sid, 2 ** 31 - 2)]).toEqual([true, true])
    for (const [at, digit] of [...sid].entries()) {
      if (digit === '-') continue
      const other = `${sid.slice(0, at)}${digit === 'f' ? '0' : 'f'}${sid.slice(at + 1)}`
      expect([other, list.has(other, 0)]).toEqual([other, false])
    }
  })

  it('refuses the tokens before a generation, and never fewer than before', () => {
    const list = createList()
    const sid = uuidv7(new Date())
    const refused = () => [0, 4, 5, 6].filter((generation) => list.has(sid, generation))
    expect(list.add({ sid, minGeneration: 5 })).toBe(true)
    expect(refused()).toEqual([0, 4])
    expect(list.add({ sid, minGeneration: 3 })).toBe(false)
    expect(refused()).toEqual([0, 4])
    expect(list.add({ sid, minGeneration: null })).toBe(true)
    expect(list.add({ sid, minGeneration: 6 })).toBe(false)
    expect(refused()).toEqual([0, 4, 5, 6])
  })

  it('keeps an entry for 20 minutes after it was added, and not for long after that', () => {
    const list = createList()
    const [early, late] = [uuidv7(new Date()), uuidv7(new Date())]
    list.add({ sid: early, minGeneration: null })
    list.at(4 * minutes)
    list.add({ sid: late, minGeneration: null })
    list.at(24 * minutes)
    list.forgetOld()
    expect(list.has(late, 0)).toBe(true)
    const later = uuidv7(new Date())
    list.add({ sid: later, minGeneration: null })
    list.at(26 * minutes)
    list.forgetOld()
    expect([list.has(early, 0), list.has(late, 0), list.has(later, 0)]).toEqual([false, false, true])
    list.at(50 * minutes)
    list.forgetOld()
    expect([list.has(later, 0), list.size()]).toEqual([false, { entries: 0, bytes: 0 }])
  })

  it('holds a hundred thousand sessions that ended in 15 minutes in less than 5 MB', () => {
    const list = createList()
    const count = 100_000
    const some: string[] = []
    for (let index = 0; index < count; index += 1) {
      list.at((index / count) * 15 * minutes)
      const sid = randomUUID()
      list.add({ sid, minGeneration: null })
      if (index % 10 === 0) some.push(sid)
    }
    const { entries, bytes } = list.size()
    expect(entries).toBe(count)
    expect(bytes).toBeLessThan(5 * 1024 * 1024)
    expect(some.filter((sid) => !list.has(sid, 0))).toEqual([])
  })
})
