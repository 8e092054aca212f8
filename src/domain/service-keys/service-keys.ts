import { refuse } from '../../contract/outcome.js'
import { fingerprint, randomToken, sameBytes } from '../../lib/random.js'

export type ServiceKey = { name: string; hash: Buffer }
/** The key that a program has used: its name for logs, and an id that does not change when the file is sorted. */
export type UsedKey = { name: string; id: string }

/** Programs that look for secrets in code and logs know ours by its beginning. */
const keyPrefix = 'latchkey_'
const keyName = /^[a-z\d][\w.-]{0,63}$/i
const hashText = /^[\da-f]{64}$/i

export const isKeyName = (text: string) => keyName.test(text)

/** A new key with 256 random bits, and the line of the file that lets it in. Only the line is kept. */
export const newServiceKey = (name: string) => {
  const key = `${keyPrefix}${randomToken()}`
  return { key, line: `${name} ${fingerprint(key).toString('hex')}` }
}

/** A line for each key: its name and the SHA-256 of the key in hex. Empty lines and lines that begin with # are skipped. */
export const parseServiceKeys = (text: string) => {
  const keys: ServiceKey[] = []
  for (const [at, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const [name = '', hash = '', ...rest] = line.trim().split(/\s+/)
    if (!isKeyName(name) || !hashText.test(hash) || rest.length > 0) return refuse('malformed_line', { line: at + 1 })
    if (keys.some((key) => key.name === name)) return refuse('name_taken', { line: at + 1 })
    keys.push({ name, hash: Buffer.from(hash, 'hex') })
  }
  return keys
}

export type ServiceKeys = ReturnType<typeof createServiceKeys>

/** The keys of other programs. They can be replaced while the service runs. */
export const createServiceKeys = (initial: readonly ServiceKey[]) => {
  let keys = initial
  return {
    replace: (next: readonly ServiceKey[]) => {
      keys = next
    },
    /** Compares with every key, so that the time says nothing about which ones there are. */
    find: (given: string): UsedKey | undefined => {
      const hash = fingerprint(given)
      let found: UsedKey | undefined
      for (const key of keys) {
        if (sameBytes(key.hash, hash)) found = { name: key.name, id: key.hash.toString('hex', 0, 8) }
      }
      return found
    },
  }
}
