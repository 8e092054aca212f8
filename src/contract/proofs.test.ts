import { expect, it } from 'vitest'
import { type ProofMethod, reachingTwoFactors } from './second-factors.js'

it.each<[proven: string[], methods: ProofMethod[], reaching: ProofMethod[]]>([
  [['pwd'], ['passkey', 'totp', 'recovery_code'], ['passkey', 'totp', 'recovery_code']],
  [['provider'], ['totp'], ['totp']],
  [['pwd'], ['password'], []],
  [['provider'], ['mail'], []],
  // It began with a passkey that was removed since: a code is the only factor then.
  [[], ['totp', 'recovery_code'], []],
  [['otp'], ['totp'], []],
  [[], ['passkey', 'totp'], ['passkey']],
])('a session with %j gets two factors by some of %j', (proven, methods, reaching) => {
  expect(reachingTwoFactors(methods, proven)).toEqual(reaching)
})
