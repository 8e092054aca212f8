import { expect, it } from 'vitest'
import { deliverInLanes } from './rounds.js'

/** How often it was asked for an item, and how many were delivered at the same time. */
const deliverAll = async (items: number) => {
  let left = items
  let together = 0
  const seen = { claims: 0, most: 0 }
  await deliverInLanes({
    claim: async () => {
      seen.claims += 1
      left -= 1
      return left < 0 ? undefined : { item: left }
    },
    deliver: async () => {
      together += 1
      seen.most = Math.max(seen.most, together)
      await new Promise((resolve) => setTimeout(resolve, 5))
      together -= 1
      return true
    },
  })
  return seen
}

it('asks for a second item, and for no more if there is none', async () => {
  expect(await deliverAll(0)).toEqual({ claims: 1, most: 0 })
  expect(await deliverAll(1)).toEqual({ claims: 3, most: 1 })
})

it('delivers many items, four at a time', async () => {
  expect(await deliverAll(20)).toEqual({ claims: 24, most: 4 })
})
