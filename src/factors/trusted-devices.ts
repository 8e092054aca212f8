import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { equalInConstantTime, fingerprint, randomToken } from '../lib/random.js'

import { uuidv7 } from '../lib/uuid.js'
import type { Database, Sql } from '../platform/database/database.js'
import * as store from './trusted-devices.store.js'

/** The client, and the tokens of trusted devices that its browser has. */
type Browser = { client: Client; trustedDevices: readonly string[] }

export type TrustedDevice = { id: string; ip: string; userAgent: string; createdAt: Date; expiresAt: Date }

const fromRow = ({ id, ip, user_agent, created_at, expires_at }: store.TrustedDeviceRow): TrustedDevice => ({
  id,
  ip,
  userAgent: user_agent,
  createdAt: created_at,
  expiresAt: expires_at,
})

/**
 * Browsers that need no code after a password or a provider. `lifetime` is undefined if the operator allows no trusted devices. The table
 * of account changes says which changes end the trust.
 */
export const createTrustedDevices = ({
  database,
  clock,
  lifetime,
}: {
  database: Database
  clock: Clock
  lifetime: number | undefined
}) => ({
  areOffered: lifetime !== undefined,
  /** How long a device is trusted, in seconds. Null if the operator allows no trusted devices. */
  trustedFor: lifetime === undefined ? null : Math.floor(lifetime / 1_000),
  /**
   * Trusts the browser. Returns its new tokens: one for this account, and those of other accounts that are still valid. Undefined if the
   * operator allows no trusted devices.
   */
  add: async (sql: Sql, userId: string, { client, trustedDevices: browserTokens }: Browser) => {
    if (lifetime === undefined) return undefined
    const token = randomToken()
    const now = clock.now()
    const expiresAt = later(now, lifetime)
    const hashes = browserTokens.map(fingerprint)
    await store.deleteByHash(sql, userId, hashes)
    await store.insert(sql, { id: uuidv7(now), userId, hash: fingerprint(token), client, now, expiresAt })
    const validRows = await store.selectValid(sql, hashes, now)
    return [token, ...browserTokens.filter((_, index) => validRows.some(({ hash }) => hashes[index]?.equals(hash)))]
  },
  /** The id of the trusted device, if one of these tokens of the browser belongs to this account. */
  find: async (userId: string, tokens: readonly string[]) => {
    if (lifetime === undefined || tokens.length === 0) return undefined
    const [row] = await store.selectByHash(database, userId, tokens.map(fingerprint), clock.now())
    return row?.id
  },
  /** The tokens among these that belong to this account. */
  tokensOf: async (userId: string, tokens: readonly string[]) => {
    const rows = await store.selectHashes(database, userId, tokens.map(fingerprint))
    return tokens.filter((token) => rows.some(({ hash }) => equalInConstantTime(hash, fingerprint(token))))
  },
  list: async (userId: string) => (await store.selectOfUser(database, userId, clock.now())).map(fromRow),
  remove: async (sql: Sql, id: string, userId: string) => (await store.deleteOfUser(sql, id, userId)).length > 0,
})
