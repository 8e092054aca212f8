import { readFile } from 'node:fs/promises'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { defaultScopes, type ServiceScope, serviceScopes } from '../contract/service.js'
import { codeOf } from '../lib/caught.js'
import { type Clock, parseDate } from '../lib/clock.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import { equalInConstantTime, fingerprint, randomToken } from '../lib/random.js'

export type ServiceKey = {
  name: string
  hash: Buffer
  scopes: readonly ServiceScope[]
  /** The key is refused from this time on. Undefined if it does not expire. */
  expiresAt: Date | undefined
}
/** The key that a program has used. `name` is for logs. `id` does not change when the file is sorted. */
export type UsedKey = Pick<ServiceKey, 'name' | 'scopes'> & { id: string }

/** Programs that look for secrets in code and logs recognise our keys by this prefix. */
const keyPrefix = 'latchkey_'
const keyName = /^[a-z\d][\w.-]{0,63}$/i
const hashText = /^[\da-f]{64}$/i
const expiryPrefix = 'until='

export const isKeyName = (text: string) => keyName.test(text)

/** Reads names of scopes with commas between them. Undefined if one is not a scope. */
export const readScopes = (text: string) => {
  const namedScopes = text.split(',').map((part) => serviceScopes.find((scope) => scope === part))
  return namedScopes.includes(undefined) ? undefined : serviceScopes.filter((scope) => namedScopes.includes(scope))
}

/** Reads a day (its beginning) or a moment, both in UTC, so that every machine reads the same time. */
export const readExpiry = (text: string) => {
  if (!/^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?Z)?$/.test(text)) return undefined
  const moment = parseDate(text)
  // The 31st of February would be read as a day in March.
  return moment?.toISOString().startsWith(text.slice(0, 10)) ? moment : undefined
}

type Grant = { scopes?: readonly ServiceScope[] | undefined; expiresAt?: Date | undefined }

/** A new key with 256 random bits, and the line of the file that accepts it. Only the line is stored. */
export const newServiceKey = (name: string, { scopes, expiresAt }: Grant = {}) => {
  const key = `${keyPrefix}${randomToken()}`
  const columns = [
    name,
    fingerprint(key).toString('hex'),
    ...(scopes ? [scopes.join(',')] : []),
    ...(expiresAt ? [`${expiryPrefix}${expiresAt.toISOString()}`] : []),
  ]
  return { key, line: columns.join(' ') }
}

/** Reads `[SCOPES] [until=DATE]`. Without scopes the key has `defaultScopes`, and without a date it does not expire. */
const readGrant = (columns: readonly string[]): Pick<ServiceKey, 'scopes' | 'expiresAt'> | undefined => {
  const isExpiry = (text: string | undefined) => text?.startsWith(expiryPrefix) ?? false
  const [first, second, ...more] = isExpiry(columns[0]) ? [undefined, ...columns] : columns
  const scopes = first === undefined ? defaultScopes : readScopes(first)
  const expiresAt = isExpiry(second) ? readExpiry(second?.slice(expiryPrefix.length) ?? '') : undefined
  const isUnderstood = scopes !== undefined && (second === undefined || expiresAt !== undefined) && more.length === 0
  return isUnderstood ? { scopes, expiresAt } : undefined
}

/**
 * Reads a file with a line for each key: its name, the SHA-256 of the key in hex, and if limited, its scopes and when it expires. Empty
 * lines and lines that begin with # are skipped.
 */
export const parseServiceKeys = (text: string) => {
  const keys: ServiceKey[] = []
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [name = '', hash = '', ...rest] = line.trim().split(/\s+/)
    const grant = readGrant(rest)
    if (!isKeyName(name) || !hashText.test(hash) || !grant) return refuse('malformed_line', { line: at + 1 })
    if (keys.some((key) => key.name === name)) return refuse('name_taken', { line: at + 1 })
    keys.push({ name, hash: Buffer.from(hash, 'hex'), ...grant })
  }
  return keys
}

/** An id that does not change when the file is sorted, and is no secret. */
export const keyIdOf = ({ hash }: Pick<ServiceKey, 'hash'>) => hash.toString('hex', 0, 8)

export type ServiceKeys = ReturnType<typeof createServiceKeys>
type KeyRefused = Refused<'unknown_key'> | (Refused<'expired_key'> & { name: string })

/** The keys of other programs. They can be replaced while the service runs. */
export const createServiceKeys = (initial: readonly ServiceKey[], clock: Clock) => {
  let keys = initial
  return {
    replace: (next: readonly ServiceKey[]) => {
      keys = next
    },
    /** Compares with every key, so that the time shows nothing about the keys. */
    find: (givenKey: string): UsedKey | KeyRefused => {
      const hash = fingerprint(givenKey)
      let matchingKey: ServiceKey | undefined
      for (const key of keys) {
        if (equalInConstantTime(key.hash, hash)) matchingKey = key
      }
      if (!matchingKey) return refuse('unknown_key')
      const { name, scopes, expiresAt } = matchingKey
      if (expiresAt && expiresAt <= clock.now()) return refuse('expired_key', { name })
      return { name, scopes, id: keyIdOf(matchingKey) }
    },
  }
}

const faults = {
  malformed_line: 'is not a name and the SHA-256 of a key, with or without scopes and until=DATE',
  name_taken: 'has a name that another line has',
}

/** The keys in the text of the file, or an error with one sentence for the operator. */
export const serviceKeysIn = (text: string, path: string) => {
  const keys = parseServiceKeys(text)
  if (!isRefused(keys)) return keys
  throw new OperatorError(`SERVICE_KEYS_FILE: line ${keys.line} of ${path} ${faults[keys.refused]}`)
}

const isMissing = (error: unknown) => codeOf(error) === 'ENOENT'

/** The keys in the file that SERVICE_KEYS_FILE names. */
export const readServiceKeys = async (path: string | undefined) => {
  if (path === undefined) return []
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    const hint = isMissing(error) ? '. The command `latchkey service-key add NAME` makes it.' : ''
    throw new OperatorError(`SERVICE_KEYS_FILE: the file cannot be read: ${path} (${whyUnreadable(error)})${hint}`)
  })
  return serviceKeysIn(text, path)
}
