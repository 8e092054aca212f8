import { expect, it } from 'vitest'
import { createOncePerWindow, RecentMap } from './recent.js'

it('a recent map keeps the newest, and what is set again is new', () => {
  const map = new RecentMap<string, number>(2).set('a', 1).set('b', 2).set('a', 3).set('c', 4)
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ])
})

it('reports a key once in its window, and no more keys than allowed', () => {
  let now = 0
  const isNew = createOncePerWindow({ maxKeys: 2, clock: { now: () => new Date(now), offset: () => 0 } })
  expect(['a', 'a', 'b', 'c'].map((key) => isNew(key, 10))).toEqual([true, false, true, false])
  now = 10
  expect(['c', 'a', 'c'].map((key) => isNew(key, 10))).toEqual([true, true, false])
})
