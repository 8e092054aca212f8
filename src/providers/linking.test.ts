import { describe, expect, it } from 'vitest'
import { isRefused, refuse } from '../contract/outcome.js'
import { type Decision, decide, type LinkableAccount, type Situation } from './linking.js'

const account = (id: string, ...providers: LinkableAccount['providers']): LinkableAccount => ({
  id,
  disabled: false,
  providers,
})
const disabled = (account: LinkableAccount): LinkableAccount => ({ ...account, disabled: true })

const signIn = (userId: string): Decision => ({ action: 'sign_in', userId })
const link = (userId: string): Decision => ({ action: 'link', userId })
const create: Decision = { action: 'create' }

/** What is not named is not so. */
type Given = Partial<Situation>
type Row = [sentence: string, given: Given, decision: Decision]

const decideFor = (given: Given) =>
  decide({
    provider: 'provider_a',
    owner: undefined,
    accountWithEmail: undefined,
    mustNotLink: false,
    emailReservedFor: undefined,
    linkingTo: undefined,
    ...given,
  })

const newPerson = { owner: undefined, accountWithEmail: undefined }

const signingIn: Row[] = [
  ['creates an account for a person who is new', newPerson, create],
  [
    'signs in by identity',
    { owner: account('ada', 'provider_a'), accountWithEmail: account('ada', 'provider_a') },
    signIn('ada'),
  ],
  [
    'signs in by identity although the address at the provider has changed',
    { owner: account('ada', 'provider_a'), accountWithEmail: undefined },
    signIn('ada'),
  ],
  [
    'signs in by identity although the new address at the provider belongs to another account',
    { owner: account('ada', 'provider_a'), accountWithEmail: account('bob') },
    signIn('ada'),
  ],
  [
    'links to the account with a password of the same address',
    { owner: undefined, accountWithEmail: account('ada') },
    link('ada'),
  ],
  [
    'links to the account of the other provider with the same address',
    { owner: undefined, accountWithEmail: account('ada', 'provider_b') },
    link('ada'),
  ],
  [
    'refuses an address that changed hands at the provider: the account has another identity there',
    { owner: undefined, accountWithEmail: account('ada', 'provider_a') },
    refuse('other_identity'),
  ],
  [
    'refuses an address that changed hands, also when the account has both providers',
    { owner: undefined, accountWithEmail: account('ada', 'provider_a', 'provider_b') },
    refuse('other_identity'),
  ],
  [
    'refuses what was removed from the account with this address',
    { owner: undefined, accountWithEmail: account('ada'), mustNotLink: true },
    refuse('other_identity'),
  ],
  [
    'refuses an address that is reserved for the account that had it until now',
    { emailReservedFor: 'ada' },
    refuse('email_taken'),
  ],
  [
    'refuses the identity of a disabled account',
    { owner: disabled(account('ada', 'provider_a')), accountWithEmail: undefined },
    refuse('disabled'),
  ],
  [
    'refuses the address of a disabled account, and creates no second one',
    { owner: undefined, accountWithEmail: disabled(account('ada')) },
    refuse('disabled'),
  ],
  [
    'refuses a disabled account rather than fall back to the account with the address',
    { owner: disabled(account('ada', 'provider_a')), accountWithEmail: account('bob') },
    refuse('disabled'),
  ],
]

const linking: Row[] = [
  ['links a new identity to the account that asked', { ...newPerson, linkingTo: account('ada') }, link('ada')],
  ['links a second provider', { ...newPerson, linkingTo: account('ada', 'provider_b') }, link('ada')],
  [
    'links an identity with the account\u2019s own address',
    { owner: undefined, accountWithEmail: account('ada'), linkingTo: account('ada') },
    link('ada'),
  ],
  [
    'links an identity that was removed before',
    { owner: undefined, accountWithEmail: account('ada'), mustNotLink: true, linkingTo: account('ada') },
    link('ada'),
  ],
  [
    'finds nothing to do when the identity is linked to this account already',
    { owner: account('ada', 'provider_a'), accountWithEmail: undefined, linkingTo: account('ada', 'provider_a') },
    signIn('ada'),
  ],
  [
    'refuses an identity that belongs to another account',
    { owner: account('bob', 'provider_a'), accountWithEmail: account('bob', 'provider_a'), linkingTo: account('ada') },
    refuse('identity_taken'),
  ],
  [
    'refuses an identity of another account that is disabled',
    { owner: disabled(account('bob', 'provider_a')), accountWithEmail: undefined, linkingTo: account('ada') },
    refuse('identity_taken'),
  ],
  [
    'refuses a second identity of one provider',
    { ...newPerson, linkingTo: account('ada', 'provider_a') },
    refuse('other_identity'),
  ],
  [
    'refuses an identity whose address has an account of its own: a lured visitor would lose their way in',
    { owner: undefined, accountWithEmail: account('bob'), linkingTo: account('mallory') },
    refuse('email_taken'),
  ],
  [
    'refuses an identity whose address belongs to a disabled account',
    { owner: undefined, accountWithEmail: disabled(account('bob')), linkingTo: account('ada') },
    refuse('email_taken'),
  ],
  [
    'links an address that is reserved for the account',
    { emailReservedFor: 'ada', linkingTo: account('ada') },
    link('ada'),
  ],
  [
    'refuses an address that is reserved for another account',
    { emailReservedFor: 'bob', linkingTo: account('ada') },
    refuse('email_taken'),
  ],
  [
    'refuses an account that was disabled meanwhile',
    { ...newPerson, linkingTo: disabled(account('ada')) },
    refuse('disabled'),
  ],
]

describe('the linking policy', () => {
  it.each(signingIn)('%s', (_sentence, given, decision) => {
    expect(decideFor(given)).toEqual(decision)
  })

  it.each(linking)('while linking, %s', (_sentence, given, decision) => {
    expect(decideFor(given)).toEqual(decision)
  })

  it('never hands an account to another user than its owner, whichever other accounts there are', () => {
    const accounts = [undefined, account('x'), account('x', 'provider_a'), account('y'), account('y', 'provider_a')]
    const situations = accounts.flatMap((owner) => accounts.map((accountWithEmail) => ({ owner, accountWithEmail })))
    for (const { owner, accountWithEmail } of situations) {
      const decision = decideFor({ owner, accountWithEmail })
      if (owner) expect(decision).toEqual(signIn(owner.id))
      else if (!isRefused(decision) && decision.action === 'link')
        expect(accountWithEmail).toEqual(account(decision.userId))
    }
  })
})
