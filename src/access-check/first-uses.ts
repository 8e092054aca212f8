import type { ProtectedApplication } from '../applications/protected-applications.js'
import type { AccessClaims } from '../contract/access-claims.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import { RecentMap } from '../lib/recent.js'
import { uuidFloor } from '../lib/uuid.js'
import type { Events } from '../messages/events.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import * as store from './first-uses.store.js'

const maxKnown = 50_000
/** As long as events are kept. */
const lookedBack = 90 * days

type Used = Pick<ProtectedApplication, 'id' | 'name'>

export type FirstUses = ReturnType<typeof createFirstUses>

/**
 * The first use of an application behind a proxy by a session is an event, as it is with OpenID Connect. The check does not wait for it,
 * and goes on if it cannot be written: the access check needs no store.
 */
export const createFirstUses = ({
  database,
  clock,
  events,
  log,
}: {
  database: Database
  clock: Clock
  events: Events
  log: Pick<Log, 'warn'>
}) => {
  /** By session and application. A use that was forgotten here is found in the table of events. */
  const known = new RecentMap<string, true>(maxKnown)
  /** The same for the claims of one token, so that a check in front of the framework makes no text to look it up. */
  const knownOfToken = new WeakMap<AccessClaims, Set<string>>()

  const write = ({ name }: Used, { userId, sid }: AccessClaims, client: Client) =>
    database.transaction(async (sql) => {
      const since = uuidFloor(new Date(clock.now().getTime() - lookedBack))
      await store.lockUses(sql, sid)
      const [found] = await store.selectUse(sql, { userId, sid, name, since })
      if (found) return
      await events.recordInside(sql, { kind: 'application_used', userId, sessionId: sid, reason: name }, client)
    })

  return {
    isKnown: ({ id }: Used, claims: AccessClaims) => knownOfToken.get(claims)?.has(id) === true,
    note: (application: Used, claims: AccessClaims, client: Client) => {
      const ofToken = knownOfToken.get(claims) ?? new Set()
      knownOfToken.set(claims, ofToken.add(application.id))
      const key = `${claims.sid} ${application.id}`
      if (known.has(key)) return
      known.set(key, true)
      void write(application, claims, client).catch((err: unknown) => {
        // The next token of the session tries again.
        known.delete(key)
        log.warn({ err }, 'the first use of an application could not be written')
      })
    },
  }
}
