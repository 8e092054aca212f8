import { describe, expect, it } from 'vitest'
import { codeOfLimit } from './limits.js'
import { isRefusalCode, refusalCodes, refusals } from './refusals.js'

describe('the table of refusals', () => {
  it.each(refusalCodes)('%s has a status, a title and a message', (code) => {
    const { status, error, message } = refusals[code]
    expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/)
    expect(status).toBeGreaterThanOrEqual(400)
    expect([error, message]).not.toContain('')
  })

  it('knows a code from any other value', () => {
    expect(isRefusalCode('busy')).toBe(true)
    for (const value of ['', 'Busy', 'toString', undefined, 1]) expect(isRefusalCode(value)).toBe(false)
  })

  it('finds the code of a 429 by its title', () => {
    expect(codeOfLimit('Too many login attempts')).toBe('too_many_logins')
    expect(codeOfLimit('Too many attempts')).toBe('too_many_attempts')
    expect(codeOfLimit('Too many requests')).toBe('too_many_requests')
    expect(codeOfLimit('something else')).toBe('too_many_requests')
  })
})
