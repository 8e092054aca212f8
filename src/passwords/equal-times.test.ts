import bcrypt from 'bcrypt'
import { afterAll, describe, expect, it } from 'vitest'
import { createPasswords } from './passwords.js'
import { createWorkers } from './workers.js'

// One thread, so that attempts do not overlap.
/** Who asks does not matter here. */
const client = { ip: '192.0.2.1' }
const workers = createWorkers({ threads: 1, queueLimit: 10, deadline: 20_000 })
afterAll(() => workers.close())

const median = (numbers: number[]) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0

/** CPU time of this process: what other programs do does not count. */
const cpuTime = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Interleaved, so that whatever else this process does falls on all of them alike. */
const mediansOf = async (samples: number, attempts: (() => Promise<unknown>)[]) => {
  const times = attempts.map((): number[] => [])
  for (let n = 0; n < samples; n += 1) {
    for (const [which, attempt] of attempts.entries()) {
      const begun = cpuTime()
      await attempt()
      times[which]?.push(cpuTime() - begun)
    }
  }
  return times.map(median)
}

// A real difference shows every time; one that other threads of the process make does not. So it may be measured again.
describe('a failed attempt takes as long', { retry: 3 }, () => {
  it.each([
    ['of the current cost', 6, 6],
    ['from before the cost was raised', 4, 6],
    ['from before the cost was lowered by one', 6, 5],
  ])('for an unknown user as for one with a hash %s', async (_, storedCost, cost) => {
    const passwords = createPasswords({ workers, cost, words: ['Latchkey'] })
    const stored = bcrypt.hashSync('right', storedCost)
    const attempts = [
      () => passwords.verify('wrong', stored, client),
      () => passwords.verify('wrong', undefined, client),
    ]
    await mediansOf(3, attempts)
    const [known = 0, unknown = 0] = await mediansOf(31, attempts)
    expect(Math.abs(known - unknown)).toBeLessThan(5)
    // At these low costs five milliseconds would hide a whole step; half of the time does not.
    expect(Math.min(known, unknown) / Math.max(known, unknown)).toBeGreaterThan(0.6)
  })

  it('for an unknown user after a guess at a hash of a high cost as before it, but for one step of cost', async () => {
    const passwords = createPasswords({ workers, cost: 5, words: ['Latchkey'] })
    const attempt = [() => passwords.verify('wrong', undefined, client)]
    const [before = 0] = await mediansOf(15, attempt)
    await passwords.verify('wrong', bcrypt.hashSync('right', 9), client)
    const [after = 0] = await mediansOf(15, attempt)
    // One step doubles the time. The four steps of the hash would make it sixteen times as long.
    expect(after).toBeLessThan(before * 6)
  })

  it('for an unknown user as for one with a cheaper hash of another system', async () => {
    const passwords = createPasswords({ workers, cost: 8, words: ['Latchkey'] })
    const stored = `$scrypt$ln=9,r=8,p=1$${'A'.repeat(22)}$${'B'.repeat(43)}`
    const attempts = [
      () => passwords.verify('wrong', stored, client),
      () => passwords.verify('wrong', undefined, client),
    ]
    const [known = 0, unknown = 0] = await mediansOf(11, attempts)
    // The hash by itself would be a tenth. On a busy machine its memory makes it slower than the hash for an unknown name.
    expect(Math.min(known, unknown) / Math.max(known, unknown)).toBeGreaterThan(0.5)
  })

  it('whether the password is short, long or none at all', async () => {
    const passwords = createPasswords({ workers, cost: 6, words: ['Latchkey'] })
    const stored = bcrypt.hashSync('right', 6)
    const candidates = ['wrong', 'w'.repeat(200), 'wrong\0', '😀'.repeat(300)]
    const medians = await mediansOf(
      21,
      candidates.map((password) => () => passwords.verify(password, stored, client)),
    )
    expect(Math.max(...medians) - Math.min(...medians)).toBeLessThan(5)
  })
})
