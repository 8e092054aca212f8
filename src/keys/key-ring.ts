import type { Clock } from '../lib/clock.js'
import { seconds } from '../lib/durations.js'
import type { KeySet, SigningKey } from './key-records.js'
import { accessTokenSchedule, signerAt } from './schedule.js'

import { createTokenKey, type TokenKey } from './token-keys.js'

export type Log = {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

type LoadedKey = SigningKey & { tokenKey: TokenKey }
type RingState = {
  keys: readonly LoadedKey[]
  byHeader: ReadonlyMap<string, TokenKey>
  /** The time of the database, and when this process read it. */
  now: number
  readAt: number
  offset: number
  /** Whether there are keys that this process cannot open. */
  hasUnopened: boolean
}

export type Reading = Pick<RingState, 'readAt' | 'offset'> & { set: KeySet }

const createTokenKeys = () => {
  let tokenKeys = new Map<string, TokenKey>()
  /** Each key is made once, because reading its text takes longer than a signature. */
  return (keys: readonly SigningKey[]) => {
    const earlier = tokenKeys
    tokenKeys = new Map(
      keys.map(({ id, pair }) => [
        id,
        earlier.get(id) ?? createTokenKey('at+jwt', { algorithm: 'ES256', kid: id, ...pair }),
      ]),
    )
    return keys.map((key) => ({ ...key, tokenKey: tokenKeys.get(key.id) as TokenKey }))
  }
}

/** The trusted keys, as they were last read. The time of the database is computed from the last reading. */
export const createKeyRing = ({ clock, log }: { clock: Clock; log: Log }) => {
  const tokenKeysOf = createTokenKeys()
  let loaded: RingState | undefined
  let removals = 0

  /** The time of the database, computed without a query. */
  const databaseTime = ({ now, readAt, offset }: RingState) =>
    now + (performance.now() - readAt) + (clock.offset() - offset)

  const signer = () => loaded && signerAt(loaded.keys, databaseTime(loaded))

  return {
    replace: ({ set, readAt, offset }: Reading) => {
      const keys = tokenKeysOf(accessTokenSchedule.trustedAt(set.keys, set.now))
      const byHeader = new Map(keys.map(({ tokenKey }) => [tokenKey.header, tokenKey]))
      const removedKeys = loaded?.keys.filter(({ tokenKey }) => !byHeader.has(tokenKey.header)) ?? []
      loaded = { keys, byHeader, now: set.now, readAt, offset, hasUnopened: set.unopened.length > 0 }
      if (removedKeys.length === 0) return
      removals += 1
      log.info({ keys: removedKeys.map(({ id }) => id) }, 'signing keys are no longer trusted')
    },
    isLoaded: () => loaded !== undefined,
    isEmpty: () => loaded?.keys.length === 0,
    signer,
    find: (header: string) => loaded?.byHeader.get(header),
    /** How often keys were removed. Tokens that were checked before a removal are checked again. */
    removals: () => removals,
    /** The public keys for other programs. Undefined before the keys were read, and if there are only keys that cannot be opened. */
    published: () =>
      loaded?.keys.length === 0 && loaded.hasUnopened ? undefined : loaded?.keys.map(({ pair }) => pair.published),
    /** For how long the current key has signed, in seconds. */
    signerAge: () => {
      const key = signer()
      return loaded && key && (databaseTime(loaded) - key.signsFrom) / seconds
    },
  }
}
