import bcrypt from 'bcrypt'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Comparison, compareTogether } from './bcrypt-together.js'
import { comparedTogether, isForTogether } from './hashes.js'

const cost = 5
const compare = (...comparisons: Comparison[]) => compareTogether(comparisons, cost)

/** From other programs. */
const published: [password: string, hash: string][] = [
  ['', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy'],
  ['U*U', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'],
  ['U*U*', '$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK'],
  ['U*U*U', '$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a'],
  ['\xff\xff\xa3'.normalize(), bcrypt.hashSync('\xff\xff\xa3', 4)],
]

/** What `condensed` lets through: anything of up to 72 bytes. */
const password = fc
  .oneof(
    fc.string({ maxLength: 80 }),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc.constantFrom('', 'ß'.repeat(36)),
  )
  .filter((text) => Buffer.byteLength(text) <= 72 && !text.includes('\0'))

describe('bcrypt together', () => {
  it('accepts what other programs have hashed, and nothing else', () => {
    for (const [right, hash] of published) {
      expect(compare({ password: right, hash }), hash).toEqual([true])
      expect(compare({ password: `${right}x`, hash }), hash).toEqual([false])
    }
  })

  it('decides as the library does, for any passwords, side by side', () => {
    const guess = fc.record({ password, typed: fc.option(password, { nil: undefined }), cost: fc.constantFrom(4, 5) })
    fc.assert(
      fc.property(fc.array(guess, { minLength: 1, maxLength: comparedTogether }), (guesses) => {
        const comparisons = guesses.map((each) => ({
          password: each.typed ?? each.password,
          hash: bcrypt.hashSync(each.password, each.cost),
        }))
        expect(compare(...comparisons)).toEqual(comparisons.map((each) => bcrypt.compareSync(each.password, each.hash)))
      }),
      { numRuns: 150 },
    )
  })

  it('accepts no hash that differs in any place', () => {
    const hash = bcrypt.hashSync('right', 4)
    const others = Array.from(
      hash,
      (character, place) => hash.slice(0, place) + (character === 'e' ? 'u' : 'e') + hash.slice(place + 1),
    ).slice('$2b$04$'.length)
    for (const other of others) expect(compare({ password: 'right', hash: other }), other).toEqual([false])
  })

  it('keeps the results of one comparison out of the next', () => {
    const hashes = ['one', 'two', 'three'].map((text) => ({ password: text, hash: bcrypt.hashSync(text, 4) }))
    expect(compare(...hashes)).toEqual([true, true, true])
    const [one, two] = hashes
    if (!one || !two) throw new Error('There are three')
    expect(compare({ ...one, password: two.password })).toEqual([false])
    expect(compare({ ...two, password: one.password }, one)).toEqual([false, true])
  })

  it('leaves a hash that needs more work to the library', () => {
    expect(isForTogether(bcrypt.hashSync('right', 5), 5)).toBe(true)
    expect(isForTogether(bcrypt.hashSync('right', 4), 5)).toBe(true)
    expect(isForTogether(bcrypt.hashSync('right', 6), 5)).toBe(false)
    expect(isForTogether(bcrypt.hashSync('right', 4).replace('$04$', '$03$'), 5)).toBe(false)
    expect(isForTogether('$scrypt$ln=9,r=8,p=1$AAAA$BBBB', 5)).toBe(false)
  })
})
