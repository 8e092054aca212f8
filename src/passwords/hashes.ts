import { createHmac, randomInt } from 'node:crypto'

const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const bytesThatBcryptReads = 72

/** The cost of a stored hash. Undefined if it is no bcrypt hash. */
export const costOf = (hash: string): number | undefined => {
  const cost = Number(/^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1])
  return Number.isNaN(cost) ? undefined : cost
}

/** So many comparisons are computed at once (`bcrypt-together.ts`). Four were no faster: a processor has too few registers for them. */
export const comparedTogether = 3

/** Whether a hash can be compared together with others, with the work of `cost`. */
export const isForTogether = (hash: string, cost: number) => (costOf(hash) ?? Number.POSITIVE_INFINITY) <= cost

/** A random hash that matches no password. Comparing with it takes as long as with a real hash. */
export const createDecoy = (cost: number) => {
  const rest = Array.from({ length: 53 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `$2b$${String(cost).padStart(2, '0')}$${rest}`
}

/**
 * bcrypt ignores everything after 72 bytes. A longer password is first hashed to 64 characters. A shorter one stays as it is, so that
 * hashes of other systems keep working. The label makes the hashed texts useless elsewhere, and base64 avoids zero bytes, at which bcrypt
 * would stop.
 */
export const condensed = (password: string) =>
  Buffer.byteLength(password) <= bytesThatBcryptReads
    ? password
    : createHmac('sha384', 'latchkey long password').update(password).digest('base64')

/** The hash of another system, read from the text that is stored for a user. At the first sign-in it is replaced by bcrypt. */
export type ImportedHash = ScryptHash | Argon2Hash

export type ScryptHash = {
  algorithm: 'scrypt'
  N: number
  r: number
  p: number
  salt: Buffer
  key: Buffer
  /** Better Auth normalises the password (NFKC) before it hashes it. */
  isNormalised: boolean
  /** Firebase encrypts this key with the result of scrypt, and stores the encrypted key as the hash. */
  signerKey: Buffer | undefined
}

export type Argon2Hash = {
  algorithm: 'argon2id'
  /** In KiB. */
  memory: number
  passes: number
  lanes: number
  salt: Buffer
  key: Buffer
}

const MiB = 1024 * 1024
/** The memory of a comparison has a limit, and so has its memory times its rounds: one row must not slow down the service. */
const maxMemory = 128 * MiB
const maxWork = 512 * MiB

const parametersIn = (text: string) => Object.fromEntries(text.split(',').map((pair) => pair.split('=')))
const base64 = (text: string) => Buffer.from(text, 'base64')
const isWithin = (value: number, least: number, most: number) => value >= least && value <= most
const isInBounds = (memory: number, rounds: number) => memory <= maxMemory && memory * rounds <= maxWork
const areUsable = (salt: Buffer, key: Buffer) => isWithin(salt.length, 1, 128) && isWithin(key.length, 16, 128)

const scryptForm =
  /^\$(scrypt|scrypt-nfkc)\$(ln=\d{1,2},r=\d{1,3},p=\d{1,3})\$([A-Za-z0-9+/]+)={0,2}\$([A-Za-z0-9+/]+)={0,2}$/
const firebaseForm =
  /^\$fbscrypt\$v=1,n=(\d{1,2}),r=(\d{1,3}),p=1(?:,ss=([A-Za-z0-9+/]+={0,2}))?,sk=([A-Za-z0-9+/]+={0,2})\$([A-Za-z0-9+/]+)={0,2}\$([A-Za-z0-9+/]+)={0,2}$/
const argon2Form = /^\$argon2id\$v=19\$(m=\d{1,9},t=\d{1,5},p=\d{1,3})\$([A-Za-z0-9+/]+)={0,2}\$([A-Za-z0-9+/]+)={0,2}$/

const scryptHash = (
  cost: number,
  r: number,
  p: number,
  rest: Pick<ScryptHash, 'salt' | 'key'> & Partial<ScryptHash>,
) => {
  if (!isWithin(cost, 1, 24) || r < 1 || p < 1) return undefined
  const N = 2 ** cost
  if (!isInBounds(128 * N * r, p) || !areUsable(rest.salt, rest.key)) return undefined
  return { algorithm: 'scrypt' as const, N, r, p, isNormalised: false, signerKey: undefined, ...rest }
}

const readScrypt = (text: string): ScryptHash | undefined => {
  const [, name, parameters = '', salt = '', key = ''] = scryptForm.exec(text) ?? []
  if (name === undefined) return undefined
  const { ln, r, p } = parametersIn(parameters)
  const isNormalised = name === 'scrypt-nfkc'
  return scryptHash(Number(ln), Number(r), Number(p), { salt: base64(salt), key: base64(key), isNormalised })
}

const readFirebase = (text: string): ScryptHash | undefined => {
  const [, n, r, separator = '', signerKey = '', salt = '', key = ''] = firebaseForm.exec(text) ?? []
  if (n === undefined) return undefined
  const fullSalt = Buffer.concat([base64(salt), base64(separator)])
  return scryptHash(Number(n), Number(r), 1, { salt: fullSalt, key: base64(key), signerKey: base64(signerKey) })
}

const readArgon2 = (text: string): Argon2Hash | undefined => {
  const [, parameters, saltText = '', keyText = ''] = argon2Form.exec(text) ?? []
  if (parameters === undefined) return undefined
  const { m, t, p } = parametersIn(parameters)
  const memory = Number(m)
  const passes = Number(t)
  const lanes = Number(p)
  const salt = base64(saltText)
  const key = base64(keyText)
  if (passes < 1 || !isWithin(lanes, 1, 16) || memory < 8 * lanes || salt.length < 8) return undefined
  if (!isInBounds(memory * 1024, passes) || !areUsable(salt, key)) return undefined
  return { algorithm: 'argon2id', memory, passes, lanes, salt, key }
}

/** Undefined if the text is no such hash, or needs more memory or time than is allowed. Such a hash matches no password. */
export const readImportedHash = (text: string): ImportedHash | undefined =>
  readScrypt(text) ?? readFirebase(text) ?? readArgon2(text)

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
