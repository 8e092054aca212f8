import { createHash, createHmac } from 'node:crypto'
import { mayUse } from '../applications/applications.js'
import type { ProtectedApplication } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { RequestOrigin } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { days, minutes, seconds } from '../lib/durations.js'
import { equalInConstantTime, fingerprint, type Key, randomToken } from '../lib/random.js'
import { RecentMap } from '../lib/recent.js'
import { uuidv7 } from '../lib/uuid.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, isUnusableTable, StoreUnavailable } from '../platform/database/database.js'
import { epochSeconds } from '../sessions/issue-tokens.js'
import { liveNow, type SessionLimits } from '../sessions/live-sessions.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { TokenHolder } from '../sessions/sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import type { HostSessionRow } from './host-sessions.store.js'
import * as store from './host-sessions.store.js'

const codeLifetime = 60 * seconds
const longestSession = 30 * days

/** What is known of a cookie is read again after this time. A group, a name or a proof that changes is noticed at once by other ways. */
const freshFor = 5 * minutes
/**
 * While the database is away, what is known stays good for this time: less than the list of ended sessions remembers, which would
 * otherwise have forgotten the end of a cookie that is still known.
 */
const knownFor = 15 * minutes
/** The database is asked again at most so often: after a failure, and for a visitor whose proof is not enough. */
const retryAfterFailure = 5 * seconds
const retryForProof = 1 * seconds
const endedFor = 1 * minutes
/** How many cookies one instance knows. One takes about a kilobyte. */
const maxKnown = 20_000

type HostSession = { id: string; sid: string; userId: string; claims: AccessClaims; endsAt: number }

/** What the database said of a cookie. Without a session it has ended. */
type Known = { session: HostSession | undefined; readAt: number; askedAt: number }

export type Host = Pick<ProtectedApplication, 'id' | 'name' | 'proxyOrigin'>

const textShape = /^([\w-]{43})\.([\w-]{43})$/

/** Random bits with a MAC over them and the host, so that a made-up value and that of another host cost no query. */
const createTexts = (keys: readonly Key[], kind: 'code' | 'cookie') => {
  const macOf = (key: Key, origin: string, random: string) =>
    createHmac('sha256', key).update(`${kind} ${origin} ${random}`).digest()
  return {
    make: (origin: string) => {
      const [key] = keys
      if (!key) throw new Error('There is no key for hosts of applications')
      const random = randomToken()
      return { hash: fingerprint(random), text: `${random}.${macOf(key, origin, random).toString('base64url')}` }
    },
    /** The hash that is stored of it; undefined if it was not made here for this host. */
    hashOf: (origin: string, text: string) => {
      const [, random = '', mac = ''] = textShape.exec(text) ?? []
      if (random === '') return undefined
      const given = Buffer.from(mac, 'base64url')
      const isOurs = keys.map((key) => equalInConstantTime(macOf(key, origin, random), given)).includes(true)
      return isOurs ? fingerprint(random) : undefined
    },
  }
}

/** PKCE, S256. */
export const challengeOf = (verifier: string) => createHash('sha256').update(verifier, 'ascii').digest('base64url')

/** As in an access token. `gen` is the oldest generation that is valid, so the list of ended sessions says when these are too old. */
const claimsFrom = (row: HostSessionRow, issuer: string, now: Date): AccessClaims => ({
  userId: row.user_id,
  username: row.username,
  sid: row.sid,
  sub: row.user_id,
  iss: issuer,
  aud: issuer,
  iat: epochSeconds(now),
  exp: epochSeconds(row.expires_at),
  gen: row.oldest_generation,
  email: row.email,
  ...(row.name !== null && { name: row.name }),
  auth_time: epochSeconds(row.authenticated_at),
  amr: row.methods,
  ...(row.second_factor_at !== null && { mfa_time: epochSeconds(row.second_factor_at) }),
  groups: row.groups,
})

const sessionFrom = (row: HostSessionRow, issuer: string, now: Date): HostSession => ({
  id: row.id,
  sid: row.sid,
  userId: row.user_id,
  claims: claimsFrom(row, issuer, now),
  endsAt: row.expires_at.getTime(),
})

type Needed = SessionLimits & {
  database: Database
  clock: Clock
  publicUrl: string
  keys: readonly Key[]
  users: UsersRoom['users']
  sessions: SessionsRoom['sessions']
  endStolen: SessionsRoom['endStolen']
  endedSessions: Pick<SessionsRoom['endedSessions'], 'hasEnded' | 'refusesToken' | 'add'>
  events: MessagesRoom['events']
}

type Offer = { host: Host; challenge: string; returnTo: string }

/** Codes lead a session from our host to that of an application, once. */
const createCodes = (needed: Needed) => {
  const { database, clock, lifetimes, users, sessions, endStolen, events, keys } = needed
  const codes = createTexts(keys, 'code')
  const cookies = createTexts(keys, 'cookie')

  return {
    /**
     * A code for the session of the holder. What ends sessions locks in the same order: user, session, application. If the refresh token of
     * the holder was stolen, the session ends.
     */
    offer: async (holder: TokenHolder, { host, challenge, returnTo }: Offer, client: RequestOrigin) => {
      const { userId, sessionId: sid } = holder
      const outcome = await commitUnlessRefused(database, async (sql) => {
        const [user, proof, [access]] = await Promise.all([
          users.lockEnabled(sql, userId),
          sessions.lockOfHolder(sql, holder),
          store.holdApplication(sql, host.id, host.proxyOrigin),
        ])
        if (!user) return refuse('not_authenticated')
        if (isRefused(proof)) return proof
        if (!access || !mayUse(access, user.groups)) return refuse('group_required')
        const now = clock.now()
        const [use] = await store.upsertUse(sql, { id: uuidv7(now), sid, applicationId: host.id, userId, now })
        if (!use) throw new Error('The use of an application was neither made nor found')
        const event = { kind: 'application_used', userId, sessionId: sid, reason: host.name } as const
        if (use.is_first) await events.recordInside(sql, event, client)
        const { hash, text } = codes.make(host.proxyOrigin)
        const written = { hash, useId: use.id, origin: host.proxyOrigin, challenge, returnTo }
        await store.insertCode(sql, { ...written, lifetime: codeLifetime, clockOffset: clock.offset() })
        return { code: text }
      })
      if (isRefused(outcome) && outcome.refused === 'theft') await endStolen(holder.refreshToken, client)
      return outcome
    },

    /**
     * Uses a code of this host up. `cookie` is there if it was good and belongs to the verifier. `isOfOtherAttempt`: the same browser has
     * begun again since, or somebody else has sent the code. Undefined for a code that was never good here, or was used.
     */
    use: async ({ proxyOrigin: origin }: Host, code: string, verifier: string | undefined) => {
      const hash = codes.hashOf(origin, code)
      if (!hash) return undefined
      const { hash: cookieHash, text: value } = cookies.make(origin)
      const session = { id: uuidv7(clock.now()), hash: cookieHash, lifetime: longestSession }
      const challenge = verifier === undefined ? '' : challengeOf(verifier)
      const moments = { live: liveNow({ clock, lifetimes }), clockOffset: clock.offset() }
      const [used] = await store.useCode(database, { hash, origin, challenge, session }, moments)
      if (!used?.is_of_origin) return undefined
      const { return_to: returnTo, is_of_other_attempt: isOfOtherAttempt, seconds: maxAge } = used
      return { returnTo, isOfOtherAttempt, cookie: maxAge !== null && maxAge > 0 ? { value, maxAge } : undefined }
    },
  }
}

/** Browsers share the cookies of a host between its ports, so the cookie has a value for each, the newest first. */
const maxPorts = 4
const valuesIn = (cookie: string | undefined) => (cookie ?? '').split('~')

export type HostSessions = ReturnType<typeof createHostSessions>

/** What the database says of cookies. The last answer of each is kept by host and cookie; only a cookie that was made here has one. */
const createReads = ({ database, clock, lifetimes, publicUrl, endedSessions }: Needed) => {
  const known = new RecentMap<string, Known>(maxKnown)
  const reading = new Map<string, Promise<Known>>()

  const hasEnded = ({ id, claims, endsAt }: HostSession) =>
    endsAt <= clock.now().getTime() || endedSessions.hasEnded(id) || endedSessions.refusesToken(claims)

  const read = async (key: string, hash: Uint8Array, host: Host): Promise<Known> => {
    const now = clock.now()
    const moments = { live: liveNow({ clock, lifetimes }), clockOffset: clock.offset() }
    const asked = { hash, origin: host.proxyOrigin, applicationId: host.id }
    const [row] = await store.selectByHash(database, asked, moments)
    const session = row && sessionFrom(row, publicUrl, now)
    const found = { session, readAt: now.getTime(), askedAt: now.getTime() }
    known.set(key, found)
    return found
  }

  /** Requests that come together ask once. */
  const readOnce = (key: string, hash: Uint8Array, host: Host) => {
    const running = reading.get(key) ?? read(key, hash, host).finally(() => reading.delete(key))
    reading.set(key, running)
    return running
  }

  /** What the database says now. If it is away, what it said before still holds for a while. */
  const readAgain = async (key: string, hash: Uint8Array, host: Host, before: Known | undefined) => {
    if (before) before.askedAt = clock.now().getTime()
    try {
      return await readOnce(key, hash, host)
    } catch (error) {
      const isKnown = before?.session !== undefined && !hasEnded(before.session)
      const isAway = error instanceof StoreUnavailable || isUnusableTable(error)
      if (isAway && isKnown && clock.now().getTime() < before.readAt + knownFor) return before
      throw error
    }
  }

  return { known, hasEnded, readAgain }
}

/**
 * The sessions of hosts that get none of our cookies. Each belongs to a session here and ends with it; freshness and factors are those of
 * that session. The first check at an instance asks the database, and later ones memory, together with the list of ended sessions.
 */
export const createHostSessions = (needed: Needed) => {
  const { database, clock, keys, endedSessions } = needed
  const cookies = createTexts(keys, 'cookie')
  const { known, hasEnded, readAgain } = createReads(needed)

  const keyOf = ({ id, proxyOrigin }: Host, value: string) => `${id} ${proxyOrigin} ${value}`

  /** The session, if what was read of it still holds. */
  const freshOf = ({ session, readAt, askedAt }: Known) => {
    const now = clock.now().getTime()
    const isFresh = now < readAt + freshFor || now - askedAt < retryAfterFailure
    return session && isFresh && now < readAt + knownFor && !hasEnded(session) ? session : undefined
  }

  /**
   * The session of the cookie at this host; undefined if it has none. `isEnough` says whether its proof is enough: if not, the user may have
   * given another one since it was read.
   */
  const find = async (cookie: string | undefined, host: Host, isEnough: (claims: AccessClaims) => boolean) => {
    const made = valuesIn(cookie).map((value) => ({ value, hash: cookies.hashOf(host.proxyOrigin, value) }))
    const { value = '', hash } = made.find((each) => each.hash) ?? {}
    if (!hash) return undefined
    const key = keyOf(host, value)
    const before = known.get(key)
    const now = clock.now().getTime()
    if (before && !before.session && now < before.readAt + endedFor) return undefined
    const session = before && freshOf(before)
    if (before && session && (isEnough(session.claims) || now - before.askedAt < retryForProof)) return session
    const { session: current } = await readAgain(key, hash, host, before)
    return current && !hasEnded(current) ? current : undefined
  }

  return {
    find,
    /** The session, if memory is sure of it, of the port that has set the cookie last. */
    remembered: (cookie: string | undefined, host: Host) => {
      const seen = known.get(keyOf(host, valuesIn(cookie)[0] ?? ''))
      return seen && freshOf(seen)
    },
    /** The values of the other ports of this host. */
    ofOtherPorts: (cookie: string | undefined, { proxyOrigin }: Host) =>
      valuesIn(cookie)
        .filter((value) => textShape.test(value) && !cookies.hashOf(proxyOrigin, value))
        .slice(0, maxPorts - 1),
    codes: createCodes(needed),
    /** Ends the cookie of one host. The session goes on. */
    end: async ({ id }: HostSession) => {
      await store.deleteById(database, id)
      endedSessions.add({ sid: id, minGeneration: null })
    },
  }
}
