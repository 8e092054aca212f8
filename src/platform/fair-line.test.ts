import { describe, expect, it } from 'vitest'
import { createFairLine, type Place } from './queues.js'

type Entry = Place & { name: string }

const placeOf = (name: string) => {
  const share = name.slice(0, 1)
  return { group: /[A-Z]/.test(share) ? 'capitals' : share, share }
}

const lineOf = (...names: string[]) => {
  const line = createFairLine<Entry>()
  /** `a1.2` is the first of share a, with rank 2. Capital letters are shares of one group, the others groups of their own. */
  const entries = names.map((name) => ({ name, ...placeOf(name), rank: Number(name.split('.')[1] ?? 1) }))
  for (const entry of entries) line.add(entry)
  return { line, entries }
}
const served = (line: ReturnType<typeof lineOf>['line'], count: number) =>
  Array.from({ length: count }, () => line.next()?.name)

describe('a fair line', () => {
  it('gives each share its turn, and each share keeps its order', () => {
    const { line } = lineOf('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'c2')
    expect(served(line, 8)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4', undefined])
  })

  it('a share that comes again at once does not overtake one that waits', () => {
    const { line } = lineOf('a1', 'b1', 'b2', 'b3')
    const order = []
    for (let round = 0; round < 6; round++) {
      const next = line.next()
      order.push(next?.share)
      if (next?.share === 'a') line.add({ ...next })
    }
    expect(order).toEqual(['a', 'b', 'a', 'b', 'a', 'b'])
  })

  it('serves the first rank first, and every fourth time the last, so that none waits for ever', () => {
    const { line } = lineOf('a1.2', 'b1.1', 'b2.1', 'b3.1', 'b4.1', 'c1.0')
    expect(served(line, 6)).toEqual(['c1.0', 'b1.1', 'b2.1', 'a1.2', 'b3.1', 'b4.1'])
  })

  it('when it is full, the share with the most who wait makes room, with the newest of its last rank', () => {
    const { line, entries } = lineOf('a1.1', 'a2.2', 'a3.2', 'a4.1', 'b1.2')
    expect(line.entryLeavingFor({ ...placeOf('c'), rank: 2 })).toBe(entries[2])
    // Of the flooding share itself: only for one of an earlier rank.
    expect(line.entryLeavingFor({ ...placeOf('a'), rank: 2 })).toBeUndefined()
    expect(line.entryLeavingFor({ ...placeOf('a'), rank: 1 })).toBe(entries[2])
  })

  it('of many shares with one each, a later rank makes room for an earlier one, and never the reverse', () => {
    const { line, entries } = lineOf('a1.1', 'b1.2', 'c1.2')
    expect(line.entryLeavingFor({ ...placeOf('d'), rank: 1 })).toBe(entries[2])
    expect(line.entryLeavingFor({ ...placeOf('d'), rank: 2 })).toBeUndefined()
  })

  it('many shares of one group have the turns of one, which they take in turn', () => {
    const { line } = lineOf('A1', 'A2', 'B1', 'C1', 'D1', 'x1', 'x2', 'y1')
    expect(served(line, 8)).toEqual(['A1', 'x1', 'y1', 'B1', 'x2', 'C1', 'D1', 'A2'])
  })

  it('when it is full, the group with the most who wait makes room, whichever of its shares they are from', () => {
    const { line, entries } = lineOf('A1', 'B1', 'B2', 'C1', 'x1', 'x2')
    expect(line.entryLeavingFor({ ...placeOf('y'), rank: 1 })).toBe(entries[2])
    expect(line.entryLeavingFor({ ...placeOf('x'), rank: 2 })).toBe(entries[2])
    expect(line.entryLeavingFor({ ...placeOf('B'), rank: 1 })).toBeUndefined()
    expect(line.entryLeavingFor({ ...placeOf('D'), rank: 1 })).toBe(entries[2])
  })
})
