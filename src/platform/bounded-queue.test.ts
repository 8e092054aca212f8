import { describe, expect, it } from 'vitest'
import { createBoundedQueue } from './queues.js'

const task = () => {
  let finish = (_result: string) => {}
  let started = false
  const done = new Promise<string>((resolve) => {
    finish = resolve
  })
  const run = () => {
    started = true
    return done
  }
  return { run, finish: (result: string) => finish(result), hasStarted: () => started }
}

const noDeadline = () => new AbortController().signal

describe('a bounded queue', () => {
  it('runs as many at once as it may, and the others in the order in which they came', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 2 })
    const [first, second, third] = [task(), task(), task()]
    const answers = [first, second, third].map(({ run }) => queue.run(run, noDeadline()))
    await Promise.resolve()
    expect([first, second, third].map(({ hasStarted }) => hasStarted())).toEqual([true, false, false])
    expect(queue.length()).toBe(2)
    first.finish('one')
    expect(await answers[0]).toBe('one')
    second.finish('two')
    expect(await answers[1]).toBe('two')
    third.finish('three')
    expect(await answers[2]).toBe('three')
    expect(queue.isIdle()).toBe(true)
  })

  it('a full queue refuses one of those with the most who wait, and no other', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 3 })
    const order: string[] = []
    const runs = (share: string, rank = 1) =>
      queue.run(
        async () => {
          order.push(share)
        },
        noDeadline(),
        { group: share, share, rank },
      )
    const first = task()
    const begun = queue.run(first.run, noDeadline())
    const flood = ['flood', 'flood', 'flood', 'flood'].map((share) => runs(share))
    expect(await flood[3]).toEqual({ refused: 'busy' })
    const others = [runs('home'), runs('office')]
    expect(await Promise.all([flood[1], flood[2]])).toEqual([{ refused: 'busy' }, { refused: 'busy' }])
    first.finish('done')
    await Promise.all([begun, flood[0], ...others])
    expect(order).toEqual(['flood', 'home', 'office'])
  })

  it('refuses at once what has no room to wait', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 1 })
    const [first, second] = [task(), task()]
    const answers = [queue.run(first.run, noDeadline()), queue.run(second.run, noDeadline())]
    expect(await queue.run(task().run, noDeadline())).toEqual({ refused: 'busy' })
    first.finish('one')
    second.finish('two')
    expect(await Promise.all(answers)).toEqual(['one', 'two'])
  })

  it('refuses what waited too long, never runs it, and lets what has started finish', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 5 })
    const [first, second, third] = [task(), task(), task()]
    const started = queue.run(first.run, AbortSignal.timeout(30))
    expect(await queue.run(second.run, AbortSignal.timeout(30))).toEqual({ refused: 'busy' })
    first.finish('late, but whole')
    expect(await started).toBe('late, but whole')
    third.finish('next')
    expect(await queue.run(third.run, AbortSignal.timeout(30))).toBe('next')
    expect(second.hasStarted()).toBe(false)
  })

  it('runs nothing whose signal has already fired', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 1 })
    const late = task()
    expect(await queue.run(late.run, AbortSignal.abort())).toEqual({ refused: 'busy' })
    expect(late.hasStarted()).toBe(false)
    expect(queue.isIdle()).toBe(true)
  })

  it('makes room again after a failure', async () => {
    const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 0 })
    await expect(queue.run(() => Promise.reject(new Error('broken')), noDeadline())).rejects.toThrow('broken')
    expect(await queue.run(async () => 'fine', noDeadline())).toBe('fine')
  })
})
