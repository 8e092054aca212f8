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

  describe('of tasks that share their work', () => {
    /** Notes which of them were done together. */
    const sharedWork = (most: number) => {
      const done: string[][] = []
      const run = async (works: readonly string[]) => {
        done.push([...works])
        return works.map((work) => `${work} done`)
      }
      return { done, shared: { most, run } }
    }
    const place = (share: string) => ({ group: share, share, rank: 1 })

    it('does those that wait together, as many as it may, in turn, and gives each its own result', async () => {
      const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 10 })
      const { done, shared } = sharedWork(3)
      const first = task()
      const begun = queue.run(first.run, noDeadline())
      const names = ['a1', 'a2', 'a3', 'b1', 'c1']
      const answers = names.map((name) => queue.share(shared, name, noDeadline(), place(name.slice(0, 1))))
      first.finish('one')
      await begun
      expect(await Promise.all(answers)).toEqual(names.map((name) => `${name} done`))
      expect(done).toEqual([
        ['a1', 'b1', 'c1'],
        ['a2', 'a3'],
      ])
    })

    it('does one at once where there is room, and waits for no others', async () => {
      const queue = createBoundedQueue({ maxRunning: 2, maxWaiting: 10 })
      const { done, shared } = sharedWork(3)
      await Promise.all(['a', 'b'].map((name) => queue.share(shared, name, noDeadline())))
      expect(done).toEqual([['a'], ['b']])
    })

    it('keeps different works apart, and counts those together as one that runs', async () => {
      const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 10 })
      const [one, other] = [sharedWork(3), sharedWork(3)]
      const first = task()
      const begun = queue.run(first.run, noDeadline())
      const answers = [
        queue.share(one.shared, 'a', noDeadline()),
        queue.share(other.shared, 'x', noDeadline()),
        queue.run(async () => 'alone', noDeadline()),
        queue.share(one.shared, 'b', noDeadline()),
      ]
      first.finish('one')
      expect(await Promise.all([begun, ...answers])).toEqual(['one', 'a done', 'x done', 'alone', 'b done'])
      expect([one.done, other.done]).toEqual([[['a', 'b']], [['x']]])
      expect(queue.isIdle()).toBe(true)
    })

    it('fails for all of them, and makes room again', async () => {
      const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 10 })
      const first = task()
      const begun = queue.run(first.run, noDeadline())
      const broken = { most: 3, run: () => Promise.reject(new Error('broken')) }
      const answers = ['a', 'b'].map((name) => queue.share(broken, name, noDeadline()))
      const failed = Promise.allSettled(answers)
      first.finish('one')
      await begun
      expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(await queue.run(async () => 'fine', noDeadline())).toBe('fine')
    })

    it('leaves out those that waited too long', async () => {
      const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 10 })
      const { done, shared } = sharedWork(3)
      const first = task()
      const begun = queue.run(first.run, noDeadline())
      const late = queue.share(shared, 'late', AbortSignal.timeout(10))
      const patient = queue.share(shared, 'patient', noDeadline())
      expect(await late).toEqual({ refused: 'busy' })
      first.finish('one')
      await begun
      expect(await patient).toBe('patient done')
      expect(done).toEqual([['patient']])
    })
  })
})
