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
