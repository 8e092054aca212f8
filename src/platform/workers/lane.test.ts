import { describe, expect, it } from 'vitest'
import { createLane } from './lane.js'

const task = () => {
  let finish = (_result: string) => {}
  let begun = false
  const done = new Promise<string>((resolve) => {
    finish = resolve
  })
  const run = () => {
    begun = true
    return done
  }
  return { run, finish: (result: string) => finish(result), hasBegun: () => begun }
}

describe('a lane', () => {
  it('runs as many as it is wide, and the others in the order in which they came', async () => {
    const lane = createLane({ width: 1, limit: 2, timeout: 1_000 })
    const [first, second, third] = [task(), task(), task()]
    const answers = [first, second, third].map(({ run }) => lane.run(run))
    await Promise.resolve()
    expect([first, second, third].map(({ hasBegun }) => hasBegun())).toEqual([true, false, false])
    expect(lane.length()).toBe(2)
    first.finish('one')
    expect(await answers[0]).toBe('one')
    second.finish('two')
    expect(await answers[1]).toBe('two')
    third.finish('three')
    expect(await answers[2]).toBe('three')
  })

  it('refuses at once what has no room to wait', async () => {
    const lane = createLane({ width: 1, limit: 1, timeout: 1_000 })
    const [first, second] = [task(), task()]
    const answers = [lane.run(first.run), lane.run(second.run)]
    expect(await lane.run(task().run)).toEqual({ refused: 'busy' })
    first.finish('one')
    second.finish('two')
    expect(await Promise.all(answers)).toEqual(['one', 'two'])
  })

  it('refuses what waited too long, never runs it, and lets what has begun finish', async () => {
    const lane = createLane({ width: 1, limit: 5, timeout: 30 })
    const [first, second, third] = [task(), task(), task()]
    const begun = lane.run(first.run)
    expect(await lane.run(second.run)).toEqual({ refused: 'busy' })
    first.finish('late, but whole')
    expect(await begun).toBe('late, but whole')
    third.finish('next')
    expect(await lane.run(third.run)).toBe('next')
    expect(second.hasBegun()).toBe(false)
  })

  it('makes room again after a failure', async () => {
    const lane = createLane({ width: 1, limit: 0, timeout: 30 })
    await expect(lane.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(await lane.run(async () => 'fine')).toBe('fine')
  })
})
