import { execFile } from 'node:child_process'
import { scryptSync } from 'node:crypto'
import { lookup } from 'node:dns/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import bcrypt from 'bcrypt'
import { afterAll, describe, expect, it } from 'vitest'
import { builtFile } from '../lib/home.js'
import { createWorkers } from './workers.js'

const workers = createWorkers({ queueLimit: 100, deadline: 120_000 })
afterAll(() => workers.close())

/** What slows an estimator down: many substitutions, many words, many ways to read each part. */
const crafted = [
  '4@8({[</369&#!1/|0$5+7%2'.repeat(3),
  'p4$$w0rd'.repeat(9),
  '1!|l7+4@'.repeat(9),
  'qwertyuiop[]asdfghjkl'.repeat(4),
  'abcabcabcabd'.repeat(6),
  '01/02/2003.04-05-2006'.repeat(4),
  'passwordmonkeydragonletmein'.repeat(3),
]

describe('the worker threads', () => {
  it('hash and compare', async () => {
    const hash = await workers.hash('secret', 4)
    expect(hash).toMatch(/^\$2b\$04\$/)
    if (typeof hash !== 'string') return
    expect(await workers.compare('secret', hash, 4)).toBe(true)
    expect(await workers.compare('Secret', hash, 4)).toBe(false)
  })

  it('compare several that wait together, and each gets its own answer', async () => {
    const one = createWorkers({ threads: 1, queueLimit: 100, deadline: 60_000 })
    const hashed = ['first', 'second', 'third'].map((text) => [text, bcrypt.hashSync(text, 5)] as const)
    // Those of another cost or another letter have the same answers.
    const others = [
      ['older', bcrypt.hashSync('older', 4)],
      ['costly', bcrypt.hashSync('costly', 6)],
      ['java', bcrypt.hashSync('java', 5).replace('$2b$', '$2a$')],
      ['php', bcrypt.hashSync('php', 5).replace('$2b$', '$2y$')],
    ] as const
    const all = [...hashed, ...others]
    const salt = Buffer.from('saltsaltsaltsalt')
    const base64 = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')
    const imported = `$scrypt$ln=4,r=8,p=1$${base64(salt)}$${base64(scryptSync('other', salt, 32, { N: 16, r: 8, p: 1 }))}`
    const running = one.hash('secret', 9)
    const right = all.map(([text, hash]) => one.compare(text, hash, 5))
    const wrong = all.map(([text, hash]) => one.compare(`${text}?`, hash, 5))
    const ofAnotherSystem = ['other', 'another'].map((text) => one.compareImported(text, imported, 5))
    await running
    expect(await Promise.all(right)).toEqual(all.map(() => true))
    expect(await Promise.all(wrong)).toEqual(all.map(() => false))
    expect(await Promise.all(ofAnotherSystem)).toEqual([true, false])
    await one.close()
  })

  it('compare with the library where WebAssembly cannot run', async () => {
    const hash = bcrypt.hashSync('right', 4)
    const asked = ['right', 'wrong', 'right'].map((password) => ({ bcrypt: { password, hash } }))
    const script = `
      const { compareSeveral } = await import(process.env.WORKER)
      console.log(typeof WebAssembly, await compareSeveral({ comparisons: JSON.parse(process.env.ASKED), cost: 4 }))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--jitless', '--input-type=module', '-e', script], {
      env: { WORKER: builtFile('passwords/bcrypt.worker.js').href, ASKED: JSON.stringify(asked) },
    })
    expect(stdout).toBe('undefined [ true, false, true ]\n')
  })

  it('refuse when the queue is full, and serve again afterwards', async () => {
    const few = createWorkers({ threads: 1, queueLimit: 2, deadline: 20_000 })
    const all = await Promise.all(Array.from({ length: 10 }, () => few.hash('secret', 5)))
    expect(all.filter((result) => typeof result === 'string')).toHaveLength(3)
    expect(all.filter((result) => typeof result !== 'string')).toEqual(Array(7).fill({ refused: 'busy' }))
    expect(await few.hash('secret', 4)).toMatch(/^\$2b\$/)
    await few.close()
  })

  it('take turns by connection: known devices first, then sign-ins, then registrations', async () => {
    const one = createWorkers({ threads: 1, queueLimit: 100, deadline: 60_000 })
    const hash = await one.hash('secret', 4)
    if (typeof hash !== 'string') throw new Error('The queue was full')
    const order: string[] = []
    const asked = (name: string, work: Promise<unknown>) => work.then(() => order.push(name))
    const compared = (ip: string, isKnown = false) => one.compare('guess', hash, 4, { ip, isKnown })
    await Promise.all([
      asked('running', one.hash('secret', 9)),
      // Six networks of one home.
      ...[0x100, 0x142, 0x17f, 0x180, 0x1a3, 0x1ff].map((network) =>
        asked('flood', compared(`2001:db8:0:${network.toString(16)}::1`)),
      ),
      asked('registration', one.hash('secret', 4, { ip: '192.0.2.2' })),
      asked('stranger', compared('192.0.2.3')),
      asked('known', compared('2001:db8:0:101::1', true)),
    ])
    // Three comparisons are one start, and every fourth start is for the last rank.
    const first = ['running', 'known', 'stranger', 'flood', 'flood', 'flood', 'flood', 'flood']
    expect(order).toEqual([...first, 'registration', 'flood'])
    await one.close()
  })

  it('refuse what they are at when they close, and what comes later', async () => {
    const closing = createWorkers({ threads: 1, queueLimit: 100, deadline: 20_000 })
    const begun = [closing.hash('secret', 12), closing.hash('secret', 4), closing.estimate('x'.repeat(72), [])]
    await closing.close()
    expect(await Promise.all([...begun, closing.hash('secret', 4)])).toEqual(Array(4).fill({ refused: 'busy' }))
  })

  it('refuse what would wait past the deadline', async () => {
    const slow = createWorkers({ threads: 1, queueLimit: 100, deadline: 150 })
    const all = await Promise.all(Array.from({ length: 40 }, () => slow.hash('secret', 9)))
    expect(all.some((result) => typeof result === 'string')).toBe(true)
    expect(all.at(-1)).toEqual({ refused: 'busy' })
    expect(slow.queueLength()).toBe(0)
    await slow.close()
  })

  it('end an estimate that takes too long', async () => {
    const hasty = createWorkers({ threads: 1, queueLimit: 100, deadline: 1 })
    expect(await hasty.estimate('x'.repeat(72), [])).toEqual({ refused: 'busy' })
    await hasty.close()
  })

  it('load the dictionaries outside the deadline of an estimate', async () => {
    // Loading takes longer than the first of these deadlines, an estimate does not. On a busy machine both take longer.
    const estimates: unknown[] = []
    for (const deadline of [250, 500, 1_000, 2_000, 4_000, 8_000]) {
      const cold = createWorkers({ threads: 1, queueLimit: 100, deadline })
      const estimate = await cold.estimate('Password1!', [])
      await cold.close()
      estimates.push(estimate)
      if (!('refused' in estimate)) break
    }
    expect(estimates.at(-1)).toMatchObject({ weakness: 'common' })
  })

  it('leave the event loop, DNS and files alone while crafted passwords and hashes are at work, and no estimate waits for a hash', async () => {
    await workers.estimate('warm up', [])
    const delays = monitorEventLoopDelay({ resolution: 5 })
    delays.enable()
    await wait(500)
    // What other programs cost on a busy machine.
    const usual = delays.percentile(90)
    delays.reset()
    const hashes = Promise.all(Array.from({ length: 20 }, () => workers.hash('secret', 9)))
    let areHashed = false
    void hashes.then(() => {
      areHashed = true
    })
    const first = workers.estimate('Password1!', []).then((estimate) => ({ estimate, areHashed }))
    const estimates = Promise.all(crafted.map((password) => workers.estimate(password, [])))
    const asked = performance.now()
    await lookup('localhost')
    const lookedUp = performance.now() - asked
    const all = [await first, ...(await estimates), ...(await hashes)]
    const altogether = performance.now() - asked
    delays.disable()
    expect(all.filter((result) => typeof result === 'object' && 'refused' in result)).toEqual([])
    expect(await first).toMatchObject({ estimate: { weakness: 'common' }, areHashed: false })
    expect((delays.percentile(90) - usual) / 1e6).toBeLessThan(50)
    // It does not wait in the same queue.
    expect(lookedUp).toBeLessThan(altogether / 2)
  })
})
