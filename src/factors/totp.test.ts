import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { testProgram } from '../../test/support/servers/programs.js'
import type { Undo, Undoable } from '../account-changes/undos.js'
import { newRecoveryCodes, readCode } from './recovery-codes.js'
import { base32, codeOf, fromBase32, newSecret, otpauthUri, stepAt, stepOfCode, totpBefore } from './totp.js'

/** RFC 6238, appendix B, for SHA-1: the last six of its eight digits. */
const secret = base32(Buffer.from('12345678901234567890'))
const vectors: [seconds: number, code: string][] = [
  [59, '287082'],
  [1_111_111_109, '081804'],
  [1_111_111_111, '050471'],
  [1_234_567_890, '005924'],
  [2_000_000_000, '279037'],
  [20_000_000_000, '353130'],
]

describe('the codes of an authenticator app', () => {
  it.each(vectors)('at second %i of RFC 6238 are %s', (seconds, code) => {
    expect(codeOf(secret, stepAt(seconds))).toBe(code)
  })

  it('are accepted one step early and one step late, and not two', () => {
    const [now, step] = [1_111_111_109, stepAt(1_111_111_109)]
    const accepted = [-2, -1, 0, 1, 2].map((difference) => stepOfCode(secret, codeOf(secret, step + difference), now))
    expect(accepted).toEqual([undefined, step - 1, step, step + 1, undefined])
  })

  it('have a secret of 160 bits in base32, as RFC 4648 writes it', () => {
    expect(base32(Buffer.from('foobar'))).toBe('MZXW6YTBOI')
    expect(fromBase32(newSecret())).toHaveLength(20)
    expect(fromBase32(secret).toString()).toBe('12345678901234567890')
  })

  it('are set up by an address that names the product and the account', () => {
    const uri = otpauthUri('ABC', { issuer: 'Ada & Co: x', account: 'ada+1@example.com' })
    const read = new URL(uri)
    expect(decodeURIComponent(read.pathname)).toContain('Ada & Co: x:ada+1@example.com')
    expect(Object.fromEntries(read.searchParams)).toEqual({
      secret: 'ABC',
      issuer: 'Ada & Co: x',
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
  })
})

it('agrees with oathtool on a hundred codes of a random secret', async () => {
  const [random, now] = [newSecret(), 1_763_000_000]
  const args = ['--totp', '--base32', '--now', `@${now}`, '--window', '99', random]
  const { stdout } = await promisify(execFile)(testProgram('oathtool'), args)
  const ours = Array.from({ length: 100 }, (_, at) => codeOf(random, stepAt(now) + at))
  expect(ours).toEqual(stdout.trim().split('\n'))
})

describe('what a user enters', () => {
  it('is told apart by its shape', () => {
    const [code = ''] = newRecoveryCodes()
    expect(readCode(' 123 456 ')).toEqual({ method: 'otp', code: '123456' })
    expect(readCode(code.toLowerCase().replaceAll('-', ' '))).toEqual({ method: 'rec', code: code.replaceAll('-', '') })
    for (const nothing of ['', '12345', '1234567', 'abc', '１２３４５６', `${code}A`])
      expect(readCode(nothing)).toBe(undefined)
  })

  it('is one of ten different recovery codes of 12 characters, none of which looks like another', () => {
    const codes = newRecoveryCodes()
    expect(new Set(codes).size).toBe(10)
    for (const code of codes) expect(code).toMatch(/^([\dA-HJKMNP-TV-Z]{4}-){2}[\dA-HJKMNP-TV-Z]{4}$/)
  })

  it('may have look-alikes in a recovery code', () => {
    for (const typed of ['0O1I-LVUA-BCDE', 'ooii lvva bcde', '00111vvabcde'])
      expect(readCode(typed)).toEqual({ method: 'rec', code: '00111VVABCDE' })
  })
})

const first = { id: 'first', sealed: 'a' }
const second = { id: 'second', sealed: 'b' }
const added: Undoable = { kind: 'totp' }
const replaced = (former: typeof first): Undoable => ({ kind: 'totp_replaced', former })

it.each([
  ['stays as it is without a change of it', [{ kind: 'password' }], 'stays'],
  ['is the one before the oldest replacement', [replaced(first), replaced(second)], first],
  ['is removed if it was added in these days, also if it was replaced since', [added, replaced(first)], 'removed'],
  // Switching two-step sign-in off has forgotten the secret of the first row.
  ['is removed if it was switched off after a replacement, and added again', [added, added], 'removed'],
] satisfies [string, Undoable[], unknown][])(
  'the authenticator app of an account that is taken back %s',
  (_, open, totp) => {
    expect(totpBefore(open as Undo[])).toEqual(totp)
  },
)
