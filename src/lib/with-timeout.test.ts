import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { withTimeout } from './timing.js'

const never = new Promise<string>(() => undefined)

it('settles as the work does when that is in time, and does not call onTimeout then', async () => {
  let late = false
  const onTimeout = () => {
    late = true
  }
  expect(await withTimeout(Promise.resolve('done'), 5, onTimeout)).toBe('done')
  await expect(withTimeout(Promise.reject(new Error('broken')), 5, onTimeout)).rejects.toThrow('broken')
  await wait(20)
  expect(late).toBe(false)
})

it('settles with what onTimeout returns, promises or throws', async () => {
  expect(await withTimeout(never, 5, () => 'late')).toBe('late')
  expect(await withTimeout(never, 5, async () => 'later')).toBe('later')
  const fail = () => {
    throw new Error('too late')
  }
  await expect(withTimeout(never, 5, fail)).rejects.toThrow('too late')
})

it('takes an answer that arrived while this process was busy for longer than the timeout', async () => {
  const arrives = new Promise<string>((resolve) => setImmediate(() => resolve('arrived')))
  const answer = withTimeout(arrives, 5, () => 'late')
  const end = performance.now() + 30
  while (performance.now() < end);
  expect(await answer).toBe('arrived')
})

it('leaves no unhandled rejection of work that fails after its timeout', async () => {
  const work = wait(500).then(() => Promise.reject(new Error('afterwards')))
  expect(await withTimeout(work, 2, () => 'late')).toBe('late')
  await wait(550)
})
