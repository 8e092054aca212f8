import { setImmediate as aMoment } from 'node:timers/promises'
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

  describe('of tasks that work together', () => {
    /** Notes which of them were done together. */
    const jointWork = (size: number) => {
      const done: string[][] = []
      const run = async (works: readonly string[]) => {
        done.push([...works])
        return works.map((work) => `${work} done`)
      }
      return { done, joint: { size, run } }
    }
    const place = (share: string, rank = 1) => ({ group: share, share, rank })

    /** A queue in which one task runs until `finish`. */
    const busyQueue = () => {
      const queue = createBoundedQueue({ maxRunning: 1, maxWaiting: 100 })
      const first = task()
      const begun = queue.run(first.run, noDeadline())
      const finish = async () => {
        first.finish('one')
        await begun
      }
      return { queue, finish }
    }

    it('does three that wait at once, in turn, and two alone, and gives each its own result', async () => {
      const { queue, finish } = busyQueue()
      const { done, joint } = jointWork(3)
      const names = ['a1', 'a2', 'a3', 'b1', 'c1']
      const answers = names.map((name) => queue.runJointly(joint, name, noDeadline(), place(name.slice(0, 1))))
      await finish()
      expect(await Promise.all(answers)).toEqual(names.map((name) => `${name} done`))
      expect(done).toEqual([['a1', 'b1', 'c1'], ['a2'], ['a3']])
    })

    it('does one at once where there is room, and waits for no others', async () => {
      const queue = createBoundedQueue({ maxRunning: 2, maxWaiting: 10 })
      const { done, joint } = jointWork(2)
      await Promise.all(['a', 'b'].map((name) => queue.runJointly(joint, name, noDeadline())))
      expect(done).toEqual([['a'], ['b']])
    })

    it('keeps works and ranks apart, and counts those together as one that runs', async () => {
      const { queue, finish } = busyQueue()
      const [one, other] = [jointWork(2), jointWork(2)]
      const answers = [
        queue.runJointly(one.joint, 'a', noDeadline(), place('a')),
        queue.runJointly(other.joint, 'x', noDeadline(), place('x')),
        queue.run(async () => 'alone', noDeadline(), place('alone')),
        queue.runJointly(one.joint, 'known', noDeadline(), place('known', 0)),
        queue.runJointly(one.joint, 'b', noDeadline(), place('b')),
      ]
      await finish()
      expect(await Promise.all(answers)).toEqual(['a done', 'x done', 'alone', 'known done', 'b done'])
      expect([one.done, other.done]).toEqual([[['known'], ['a', 'b']], [['x']]])
      expect(queue.isIdle()).toBe(true)
    })

    // Those who come along with the first must not use up the turn of the last rank.
    it.each([
      [1, 2],
      [2, 4],
      [3, 6],
    ])(
      'serves the last rank every fourth time, also while %i at once, of %i who wait, come again and again',
      async (size, waiting) => {
        const { queue, finish } = busyQueue()
        let rounds = 0
        const run = async (works: readonly string[]) => {
          await aMoment()
          return [...works]
        }
        const joint = { size, run }
        let isServed = false
        const again = async (name: string): Promise<unknown> => {
          rounds += 1
          await queue.runJointly(joint, name, noDeadline(), place(name))
          return isServed || rounds > 1_000 ? undefined : again(name)
        }
        const flood = Array.from({ length: waiting }, (_, index) => again(`flood ${index}`))
        const last = queue.run(
          async () => {
            isServed = true
            return rounds
          },
          noDeadline(),
          place('registration', 2),
        )
        await finish()
        expect(await last).toBeLessThan(waiting + 4 * size)
        await Promise.all(flood)
      },
    )

    it('fails for all of them, and makes room again', async () => {
      const { queue, finish } = busyQueue()
      const broken = { size: 2, run: () => Promise.reject(new Error('broken')) }
      const failed = Promise.allSettled(['a', 'b'].map((name) => queue.runJointly(broken, name, noDeadline())))
      await finish()
      expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      expect(await queue.run(async () => 'fine', noDeadline())).toBe('fine')
    })

    it('leaves out those that waited too long', async () => {
      const { queue, finish } = busyQueue()
      const { done, joint } = jointWork(2)
      const late = queue.runJointly(joint, 'late', AbortSignal.timeout(10), place('late'))
      const patient = queue.runJointly(joint, 'patient', noDeadline(), place('patient'))
      expect(await late).toEqual({ refused: 'busy' })
      await finish()
      expect(await patient).toBe('patient done')
      expect(done).toEqual([['patient']])
    })
  })
})
