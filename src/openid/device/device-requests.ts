import type { Application } from '../../applications/applications.js'
import type { OpenidScope } from '../../contract/openid.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'

import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql } from '../../platform/database/database.js'
import type { DeviceFault } from '../token/grants.js'
import * as store from './device-requests.store.js'
import { deviceRequestLifetime, newUserCode, pollInterval } from './user-codes.js'

/** By how much the interval grows each time a poll comes too early (RFC 8628, 3.5). */
const slowDownSeconds = 5
/** How much earlier than its interval a device may poll, in milliseconds. */
const pollTolerance = 500

/** A second use within this time is a retry of a program whose answer was lost. */
const retryWindow = 10 * seconds

/** How many user codes are tried until one is free. It is very unlikely that even the first is taken. */
const maxTries = 3

/** A device that waits for its user. */
export type DeviceRequest = {
  clientId: string
  scopes: OpenidScope[]
  origin: RequestOrigin
  createdAt: Date
  /** Whether the user who looks at the request has approved it. The device has no tokens yet, so the approval can be taken back. */
  isApproved: boolean
}

/** The approval of a user, in a session. */
export type Approval = { id: string; userId: string; sid: string; scopes: OpenidScope[] }

const faultOf = (row: store.PolledRow): DeviceFault | undefined => {
  if (row.is_used) return row.is_just_used ? 'retried_device' : 'reused_device'
  if (row.answer === 'denied') return 'device_denied'
  if (row.has_expired) return 'device_expired'
  if (row.answer === 'approved') return undefined
  return row.is_too_early ? 'device_too_early' : 'device_pending'
}

export type DeviceRequests = ReturnType<typeof createDeviceRequests>

/** Requests of devices without a browser (RFC 8628). The device code and the user code are stored as hashes only. */
export const createDeviceRequests = ({ database, clock }: { database: Database; clock: Clock }) => ({
  begin: async ({ id: clientId }: Application, scopes: readonly OpenidScope[], origin: RequestOrigin) => {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const deviceCode = randomToken()
      const userCode = newUserCode()
      const inserted = await store.insertRequest(database, {
        id: uuidv7(clock.now()),
        deviceCodeHash: fingerprint(deviceCode),
        userCodeHash: fingerprint(userCode),
        clientId,
        scopes,
        origin,
        lifetime: deviceRequestLifetime,
        interval: pollInterval,
        clockOffset: clock.offset(),
      })
      if (inserted.length > 0) return { deviceCode, userCode }
    }
    throw new Error('No free user code was found')
  },

  /** Undefined if there is no request with this code that the user can decide about. */
  find: async (userCode: string, userId: string): Promise<DeviceRequest | undefined> => {
    const [row] = await store.selectDecidable(database, fingerprint(userCode), userId, clock.offset())
    return (
      row && {
        clientId: row.application_id,
        scopes: row.scopes as OpenidScope[],
        origin: { ip: row.ip, userAgent: row.user_agent },
        createdAt: row.created_at,
        isApproved: row.is_approved,
      }
    )
  },

  /** False if another answer was first, or the request has expired. */
  approve: async (sql: Sql, userCode: string, answerer: { userId: string; sessionId: string }) =>
    (await store.setApproved(sql, fingerprint(userCode), answerer, clock.offset())).length > 0,

  /** Also takes an approval of this user back, until the device has its tokens. */
  deny: async (userCode: string, answerer: { userId: string; sessionId: string }) =>
    (await store.setDenied(database, fingerprint(userCode), answerer, clock.offset())).length > 0,

  /** The approval, if there is one that was not used. With `reused_device`, `deviceSid` is the session that the first use began. */
  poll: async (
    { id: clientId }: Application,
    deviceCode: string,
  ): Promise<Approval | (Refused<DeviceFault> & { deviceSid?: string | undefined })> => {
    const deviceCodeHash = fingerprint(deviceCode)
    const clockOffset = clock.offset()
    const [row] = await store.pollRequest(database, {
      deviceCodeHash,
      clientId,
      clockOffset,
      retryWindow,
      pollTolerance,
      slowDownSeconds,
    })
    if (!row) return refuse('unknown_device')
    const fault = faultOf(row)
    if (fault !== undefined) return refuse(fault, { deviceSid: row.device_sid ?? undefined })
    if (row.user_id === null || row.sid === null) throw new Error('An approval has no user')
    return { id: row.id, userId: row.user_id, sid: row.sid, scopes: row.scopes as OpenidScope[] }
  },

  /** Uses an approval up. False if another poll of the device was first. */
  take: async (sql: Sql, { id }: Approval, deviceSid: string) =>
    (await store.setUsed(sql, id, deviceSid, clock.offset())).length > 0,
})
