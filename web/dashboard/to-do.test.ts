import { describe, expect, it } from 'vitest'
import { firstToDo, type KnownFacts } from './to-do.js'

const passkey = { id: '1', name: 'Phone', createdAt: '2026-11-14T09:30:00Z', lastUsedAt: null, synced: true }
const totp = { createdAt: '2026-11-14T09:30:00Z' }

/** An account for which nothing is to do. */
const safe: KnownFacts = {
  account: { hasPassword: true, providers: ['provider_a'], emailProven: true },
  factors: { totp, recoveryCodes: { left: 9 }, passkeys: [passkey] },
  secondFactor: 'optional',
  providers: ['provider_a'],
  mailSignIn: false,
  mailIsOff: false,
  canAddPasskey: true,
}
const withAccount = (account: Partial<KnownFacts['account']>, more: Partial<KnownFacts> = {}): KnownFacts => ({
  ...safe,
  ...more,
  account: { ...safe.account, ...account },
})
const withFactors = (
  factors: Partial<NonNullable<KnownFacts['factors']>>,
  more: Partial<KnownFacts> = {},
): KnownFacts => ({
  ...safe,
  ...more,
  factors: { totp, recoveryCodes: { left: 9 }, passkeys: [passkey], ...factors },
})
const none = { totp: null, recoveryCodes: { left: 0 }, passkeys: [] }

describe('the line at the top of the account page', () => {
  it.each<[string, KnownFacts, string | undefined]>([
    ['nothing for an account with several ways in', safe, undefined],
    ['nothing while the factors are not known', { ...safe, factors: undefined }, undefined],
    ['nothing about codes without an app', withFactors({ ...none, passkeys: [passkey] }), undefined],
    ['a second step where one is required', withFactors(none, { secondFactor: 'required' }), 'secondStepMissing'],
    ['no second step where a passkey is one', withFactors({ totp: null }, { secondFactor: 'required' }), undefined],
    ['new codes when none is left', withFactors({ recoveryCodes: { left: 0 } }), 'noCodes'],
    ['new codes when few are left', withFactors({ recoveryCodes: { left: 3 } }), 'fewCodes'],
    ['nothing when enough codes are left', withFactors({ recoveryCodes: { left: 4 } }), undefined],
    ['an address that was never confirmed', withAccount({ emailProven: false }), 'emailNotProven'],
    [
      'nothing about an address where nothing is mailed',
      withAccount({ emailProven: false }, { mailIsOff: true }),
      undefined,
    ],
    ['another way in, if there is only a password', withAccount({ providers: [] }, { factors: none }), 'oneWay'],
    ['another way in, if there is only a provider', withAccount({ hasPassword: false }, { factors: none }), 'oneWay'],
    ['another way in, if the provider is gone', withAccount({}, { factors: none, providers: [] }), 'oneWay'],
    [
      'another way in, if there are only mailed codes',
      withAccount({ hasPassword: false, providers: [] }, { factors: none, mailSignIn: true }),
      'oneWay',
    ],
    [
      'nothing, if mailed codes are the second way',
      withAccount({ providers: [] }, { factors: none, mailSignIn: true }),
      undefined,
    ],
    ['nothing, if a provider is the second way', withAccount({}, { factors: none }), undefined],
    [
      'nothing, if this browser cannot make a passkey',
      withAccount({ providers: [] }, { factors: none, canAddPasskey: false }),
      undefined,
    ],
  ])('asks for %s', (_, known, expected) => {
    expect(firstToDo(known)?.name).toBe(expected)
  })

  it('names the most urgent thing, and leads to its panel', () => {
    const lost = withAccount({ emailProven: false }, withFactors({ recoveryCodes: { left: 1 } }))
    expect(firstToDo(lost)).toEqual({ name: 'fewCodes', place: 'two-step' })
  })
})
