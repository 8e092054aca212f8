import { costOf } from './hashes.js'
import { readImportedHash } from './imported-hashes.js'

/** The password hash parameters of a Firebase project. */
export type FirebaseParameters = { signerKey: Buffer; saltSeparator: Buffer; rounds: number; memoryCost: number }

/** Two systems write a salt, a colon and a key in hexadecimal digits, and hash with different parameters. */
export const saltedHexForms = ['better-auth', 'node'] as const
export type HashForms = {
  firebase?: FirebaseParameters | undefined
  saltedHex: (typeof saltedHexForms)[number]
  /** BCRYPT_COST. A bcrypt hash of at most this cost is always accepted. */
  bcryptCost?: number | undefined
}

/** A sign-in with a hash of cost 14 takes four times as long as one of cost 12. */
const highestImportedCost = 14
const base64Text = /^[A-Za-z0-9+/_-]+={0,2}$/
const withoutPadding = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '')

const faultByPrefix = (highestCost: number) => ({
  $2: `password_hash must be a bcrypt hash ($2a$, $2b$ or $2y$) of cost 4 to ${highestCost}`,
  $scrypt:
    'password_hash must be $scrypt$ln=,r=,p=$salt$hash, with at most 128 MiB of memory, and at most 512 MiB for memory times p',
  $fbscrypt: 'password_hash must be $fbscrypt$v=1,n=,r=,p=1,ss=,sk=$salt$hash, with at most 128 MiB of memory',
  $argon2id:
    'password_hash must be $argon2id$v=19$m=,t=,p=$salt$hash, with at most 131072 KiB of memory, and at most 524288 KiB for memory times t',
})

/** Reads `salt:hash`. Both systems hash with the digits of the salt as text, and not with the bytes that they stand for. */
const fromSaltedHex = (text: string, form: HashForms['saltedHex']) => {
  const [, salt = '', key] = /^([0-9a-f]{32}):([0-9a-f]{128})$/i.exec(text) ?? []
  if (key === undefined) return undefined
  const parameters = form === 'better-auth' ? '$scrypt-nfkc$ln=14,r=16,p=1' : '$scrypt$ln=14,r=8,p=1'
  return `${parameters}$${withoutPadding(Buffer.from(salt))}$${withoutPadding(Buffer.from(key, 'hex'))}`
}

/** Firebase keeps the salt of a user beside the hash. Its exports use either alphabet of base64. */
const fromFirebase = (text: string, salt: string | undefined, parameters: FirebaseParameters | undefined) => {
  if (!parameters || salt === undefined || !base64Text.test(text) || !base64Text.test(salt)) return undefined
  const { signerKey, saltSeparator, rounds, memoryCost } = parameters
  const separator = saltSeparator.toString('base64')
  const signer = signerKey.toString('base64')
  const secrets = `${separator && `,ss=${separator}`},sk=${signer}`
  const [saltText, keyText] = [salt, text].map((part) => withoutPadding(Buffer.from(part, 'base64')))
  return `$fbscrypt$v=1,n=${memoryCost},r=${rounds},p=1${secrets}$${saltText}$${keyText}`
}

/**
 * The text to store for the hash of another system, in a form that says how to compare it. `unknown`: a form that we do not know. `broken`:
 * a form that we know, with a mistake, or with parameters that would take too much memory or time.
 */
export const hashToStore = (
  text: string,
  salt: string | undefined,
  { firebase, saltedHex, bcryptCost = 0 }: HashForms,
): { hash: string } | { unknown: true } | { broken: string } => {
  const hash = fromSaltedHex(text, saltedHex) ?? fromFirebase(text, salt, firebase) ?? text
  const highestCost = Math.max(highestImportedCost, bcryptCost)
  if ((costOf(hash) ?? Number.POSITIVE_INFINITY) <= highestCost || readImportedHash(hash)) return { hash }
  const fault = Object.entries(faultByPrefix(highestCost)).find(([start]) => hash.startsWith(start))?.[1]
  return fault === undefined ? { unknown: true } : { broken: fault }
}
