import { describe, expect, it } from 'vitest'
import { isRefused } from '../contract/outcome.js'
import { readEmail } from '../users/names.js'
import { createRegistrationGate } from './invitations.js'

const domains = ['example.com', 'example.org', 'xn--exmple-cua.net']

const answerFor = (address: string) => {
  const email = readEmail(address)
  if (isRefused(email)) return email.refused
  return (
    createRegistrationGate(() => ({ registration: 'open', registrationDomains: domains })).refusalFor(email)?.refused ??
    'allowed'
  )
}

describe('the domains that may register', () => {
  it.each([
    'ada@example.com',
    'ADA@EXAMPLE.COM',
    ' ada@example.com ',
    'ada+news@example.com',
    'ada@example.org',
    'ada@xn--exmple-cua.net',
    'ada@XN--EXMPLE-CUA.net',
  ])('%s is of one of them', (address) => {
    expect(answerFor(address)).toBe('allowed')
  })

  it.each([
    'ada@mail.example.com',
    'ada@example.com.evil',
    'ada@example.com.example.dev',
    'ada@evilexample.com',
    'ada@example.co',
    'ada@com',
    'ada@exampl.e.com',
    'ada@xn--exmple-cua.com',
    'example.com@example.dev',
    'ada#example.com@example.dev',
  ])('%s is not', (address) => {
    expect(['email_domain_not_allowed', 'email_shape']).toContain(answerFor(address))
  })

  it.each([
    'ada@exämple.net',
    'ada@\uff45xample.com',
    'ada@example\u3002com',
    'ada@example.com.',
    'eve@example.dev@example.com',
    '"eve@example.dev\\"@example.com',
    'eve@example.dev\u0000@example.com',
    'eve@example.dev,ada@example.com',
    'ada@ex\u00adample.com',
  ])('%j is no address at all', (address) => {
    expect(answerFor(address)).toBe('email_shape')
  })

  it('an empty list allows every domain', () => {
    const email = readEmail('ada@example.dev')
    if (isRefused(email)) throw new Error('an address was expected')
    expect(
      createRegistrationGate(() => ({ registration: 'open', registrationDomains: [] })).refusalFor(email),
    ).toBeUndefined()
  })

  it.each([
    ['closed', 'registration_closed'],
    ['invited', 'invitation_required'],
  ] as const)('%s answers every new address alike, and does not bind a change of the address', (mode, refused) => {
    const gate = createRegistrationGate(() => ({ registration: mode, registrationDomains: domains }))
    for (const address of ['ada@example.com', 'ada@example.dev']) {
      const email = readEmail(address)
      if (isRefused(email)) throw new Error('an address was expected')
      expect(gate.refusalFor(email)?.refused).toBe(refused)
      expect(gate.refusalForAddress(email)?.refused).toBe(
        address.endsWith('.com') ? undefined : 'email_domain_not_allowed',
      )
    }
  })
})
