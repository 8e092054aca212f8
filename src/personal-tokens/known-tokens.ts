import type { Clock } from '../lib/clock.js'
import { hours, minutes, seconds } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'
import { RecentMap } from '../lib/recent.js'
import { type Database, StoreUnavailable } from '../platform/database/database.js'
import type { EndedSessions } from '../sessions/ended-sessions.js'
import * as store from './personal-tokens.store.js'
import { isToken } from './token-text.js'

/** A token that works, and its user. */
export type KnownToken = {
  id: string
  applications: readonly string[]
  user: { id: string; username: string; name: string | null; email: string; groups: readonly string[] }
}

type Remembered = KnownToken & { generation: number; expiresAt: number; askedAt: number; notedUntil: number }

const maxKnown = 10_000
const maxUnknown = 10_000

const unknownFor = 1 * minutes
/** The database is asked again after this time. */
const askAgainAfter = 5 * minutes
/** Without the database a token goes on for as long as an access token would. The end of one is on the list for longer. */
const goesOnFor = 15 * minutes
const noteEvery = 1 * hours

const fromRow = (row: store.KnownRow, askedAt: number): Remembered => ({
  id: row.id,
  applications: row.applications,
  user: { id: row.user_id, username: row.username, name: row.name, email: row.email, groups: row.groups },
  generation: row.generation,
  expiresAt: row.expires_at.getTime(),
  askedAt,
  notedUntil: row.last_used_at ? row.last_used_at.getTime() + noteEvery : 0,
})

type Needed = {
  database: Database
  clock: Clock
  endedSessions: Pick<EndedSessions, 'refusesToken'>
  log: { warn(details: object, message: string): void }
}

/** The tokens that were used here lately, in memory: a program sends its token with every request. */
export const createKnownTokens = ({ database, clock, endedSessions, log }: Needed) => {
  const known = new RecentMap<string, Remembered>(maxKnown)
  const unknownUntil = new RecentMap<string, number>(maxUnknown)
  const asking = new Map<string, Promise<Remembered | undefined>>()
  const now = () => clock.now().getTime()

  /** Whether the token or its user has changed since the database was asked. */
  const isOutdated = ({ id, generation, user, askedAt }: Remembered) =>
    endedSessions.refusesToken({ sid: id, gen: generation, userId: user.id, iat: Math.floor(askedAt / seconds) })

  const ask = async (key: string, hash: Uint8Array) => {
    const askedAt = now()
    const [row] = await store.selectByHash(database, hash, clock.offset())
    if (!row) {
      known.delete(key)
      unknownUntil.set(key, askedAt + unknownFor)
      return undefined
    }
    const token = fromRow(row, askedAt)
    known.set(key, token)
    return token
  }

  /** Requests of one token that come together ask once. */
  const askOnce = (key: string, hash: Uint8Array) => {
    const asked = asking.get(key) ?? ask(key, hash).finally(() => asking.delete(key))
    asking.set(key, asked)
    return asked
  }

  const askAgain = async (key: string, hash: Uint8Array, remembered: Remembered) => {
    try {
      return await askOnce(key, hash)
    } catch (error) {
      if (error instanceof StoreUnavailable && now() - remembered.askedAt < goesOnFor) return remembered
      throw error
    }
  }

  const remember = async (key: string, hash: Uint8Array) => {
    const remembered = known.get(key)
    if (!remembered || isOutdated(remembered)) return askOnce(key, hash)
    return now() - remembered.askedAt < askAgainAfter ? remembered : askAgain(key, hash, remembered)
  }

  /** Nobody waits for the note, and a note that is lost is made up for by the next. */
  const noteUse = (token: Remembered) => {
    if (token.notedUntil > now()) return
    token.notedUntil = now() + noteEvery
    store
      .noteUse(database, token.id, noteEvery, clock.offset())
      .catch((err) => log.warn({ err }, 'the last use of a personal token could not be noted'))
  }

  return {
    /** The token, if it works now. Rejects if the database must be asked and is away. */
    find: async (text: string): Promise<KnownToken | undefined> => {
      if (!isToken(text)) return undefined
      const hash = fingerprint(text)
      const key = hash.toString('base64')
      if ((unknownUntil.get(key) ?? 0) > now()) return undefined
      const token = await remember(key, hash)
      if (!token || token.expiresAt <= now()) return undefined
      noteUse(token)
      return token
    },
  }
}
