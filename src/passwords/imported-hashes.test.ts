import { scryptSync } from 'node:crypto'
import { afterAll, describe, expect, it } from 'vitest'
import { readFirebaseParameters } from '../commands/import/user-import.js'
import { type HashForms, hashToStore } from './hashes.js'
import { createPasswords } from './passwords.js'
import { createWorkers } from './workers.js'

/** Who asks does not matter here. */
const client = { ip: '192.0.2.1' }
const workers = createWorkers({ threads: 1, queueLimit: 50, deadline: 60_000 })
afterAll(() => workers.close())
const passwords = createPasswords({ workers, cost: 4, words: ['Latchkey'] })

/** As the Firebase console shows them: the example of github.com/firebase/scrypt. */
const shownByFirebase = `hash_config {
  algorithm: SCRYPT,
  base64_signer_key: jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,
  base64_salt_separator: Bw==,
  rounds: 8,
  mem_cost: 14,
}
`
const firebase = readFirebaseParameters(shownByFirebase)
const firebaseHash = 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ=='
const firebaseSalt = '42xEC+ixf3L2lw=='

const stored = (text: string, forms: HashForms = { saltedHex: 'better-auth' }, salt?: string) => {
  const read = hashToStore(text, salt, forms)
  if (!('hash' in read)) throw new Error(JSON.stringify(read))
  return read.hash
}

const phrase = 'Größe-of a Horse 9 ﬁ'
const hexSalt = '000102030405060708090a0b0c0d0e0f'

// Made by other programs: Python's hashlib.scrypt, passlib 1.7.4 and argon2-cffi 25.1.0.
const made: [maker: string, password: string, hash: string][] = [
  [
    'hashlib.scrypt',
    phrase,
    stored('$scrypt$ln=10,r=8,p=2$AAECAwQFBgcICQoLDA0ODw$PZsK+BXgH62v5eAp1AcUXoQpxIn1HTp34oYw3wHtHH8'),
  ],
  [
    'passlib',
    phrase,
    stored('$scrypt$ln=10,r=8,p=1$kzKm9B4jpDQGwPj/P4fQGg$A5MGmP9VtpJeW1vDVSw4Xp3XNO1mHIzG2beQQvRPVjI'),
  ],
  [
    'the algorithm of Better Auth in Python',
    phrase,
    stored(
      `${hexSalt}:07aa77056c6596e589bee92682a821cc87e386b9bac924ba09d4fedc25c1e99d4bda59443f5c428612474821701a52be672585ac2f1057f427365dcf54258eab`,
    ),
  ],
  [
    'the defaults of Node in Python',
    phrase,
    stored(
      `${hexSalt}:7c59aec6cdc803f30eee439e47d6c4f12cc2e79442e5ec7c1bcaac09546883c0feea108b8c114e961c05f75793e920358f08dc63490d7333eff6a52c07f086c8`,
      { saltedHex: 'node' },
    ),
  ],
  [
    'argon2-cffi',
    phrase,
    stored('$argon2id$v=19$m=1024,t=2,p=2$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0'),
  ],
  ['Firebase', 'user1password', stored(firebaseHash, { firebase, saltedHex: 'node' }, firebaseSalt)],
]

describe('hashes of other systems', () => {
  it.each(made)('%s: the password matches, another does not, and bcrypt is asked for', async (_, password, hash) => {
    expect(await passwords.verify(password, hash, client)).toEqual({ matches: true, needsRehash: true })
    expect(await passwords.verify(`${password}x`, hash, client)).toEqual({ matches: false, needsRehash: false })
    expect(await passwords.verify('', hash, client)).toEqual({ matches: false, needsRehash: false })
    expect(stored(hash), 'what is exported can be imported').toBe(hash)
  })

  it('takes a hash made now by the algorithm that Better Auth publishes', async () => {
    const salt = 'a3'.repeat(16)
    const options = { N: 16_384, r: 16, p: 1, maxmem: 128 * 16_384 * 16 * 2 }
    const hash = stored(`${salt}:${scryptSync('correct horse', salt, 64, options).toString('hex')}`)
    expect(await passwords.verify('correct horse', hash, client)).toEqual({ matches: true, needsRehash: true })
  })

  it('takes both alphabets of base64 from Firebase, and its parameters as JSON', () => {
    const urlSafe = firebaseHash.replaceAll('+', '-').replaceAll('/', '_')
    const asJson = JSON.stringify({
      base64_signer_key: firebase.signerKey.toString('base64'),
      base64_salt_separator: 'Bw==',
      rounds: 8,
      mem_cost: 14,
    })
    const forms: HashForms = { firebase: readFirebaseParameters(asJson), saltedHex: 'node' }
    expect(stored(urlSafe, forms, firebaseSalt)).toBe(stored(firebaseHash, { ...forms, firebase }, firebaseSalt))
  })

  it.each([
    '$2b$16$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa',
    '$scrypt$ln=18,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$PZsK+BXgH62v5eAp1AcUXoQpxIn1HTp34oYw3wHtHH8',
    '$scrypt$ln=17,r=8,p=5$AAECAwQFBgcICQoLDA0ODw$PZsK+BXgH62v5eAp1AcUXoQpxIn1HTp34oYw3wHtHH8',
    '$scrypt$ln=14,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$short',
    '$fbscrypt$v=1,n=18,r=8,p=1,ss=Bw==,sk=AAECAwQFBgcICQoLDA0ODw==$AAECAw$PZsK+BXgH62v5eAp1AcUXoQpxIn1HTp34oYw3wHtHH8',
    '$argon2id$v=19$m=2097152,t=1,p=4$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0',
    '$argon2id$v=19$m=65536,t=9,p=4$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0',
    '$argon2id$v=19$m=64,t=1,p=16$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0',
  ])('refuses %s, and nothing matches it where it is stored all the same', async (hash) => {
    expect(hashToStore(hash, undefined, { saltedHex: 'better-auth' })).toHaveProperty('broken')
    expect(await passwords.verify(phrase, hash.replace('$2b$16$', '$2b$99$'), client)).toMatchObject({ matches: false })
  })

  it.each([
    'pbkdf2_sha256$870000$salt$hash',
    '{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=',
    '5f4dcc3b5aa765d61d8327deb882cf99',
    '$argon2i$v=19$m=1024,t=2,p=2$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0',
    firebaseHash,
  ])('does not know %s', (hash) => {
    expect(hashToStore(hash, firebaseSalt, { saltedHex: 'better-auth' })).toEqual({ unknown: true })
  })
})
