import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createPasskey, type KeyKind } from '../../test/support/passkey.js'
import { verifyRegistration } from './passkey-ceremonies.js'

const party = { id: 'localhost', origin: 'http://localhost:3000', name: 'Latchkey' }
const registered = (kind: KeyKind) => {
  const challenge = randomBytes(32).toString('base64url')
  const credential = createPasskey(party.origin, kind).create({ challenge, rp: party, user: { id: 'ada' } })
  return verifyRegistration(credential, challenge, party)
}

it.each(['P-256', 'Ed25519', 'RSA 2048'] as const)('a passkey may have a key of the kind %s', async (kind) => {
  expect((await registered(kind))?.publicKey).toBeInstanceOf(Uint8Array)
})

it.each(['P-384', 'RSA 1024'] as const)('a passkey with a key that we do not ask for (%s) is refused', async (kind) => {
  expect(await registered(kind)).toBeUndefined()
})
