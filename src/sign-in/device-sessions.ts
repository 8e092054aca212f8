import type { AccountChanges } from '../account-changes/account-changes.js'
import type { AmrMethod } from '../contract/factors.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Transaction } from '../platform/database/database.js'
import type { Proof } from '../sessions/session-facts.js'
import { assignToApplication, type Sessions } from '../sessions/sessions.js'

import type { User } from '../users/users.js'

type Dependencies = {
  sessions: Pick<Sessions, 'beginSession'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  events: Pick<Events, 'recordInside'>
}

type NewDeviceSession = { user: User; sid: string; applicationId: string; proof: Proof; client: Client }

export type DeviceSessions = ReturnType<typeof createDeviceSessions>

/**
 * The session of a device that a signed-in user has approved. It is no further way to sign in: it has the proofs of the session that
 * approved it, with their times, and the trigger for second factors checks it like every other session. Its own tokens are given to no one,
 * so only the application can use it. The owner is told by mail, because the approval may be the result of a fraud.
 */
export const createDeviceSessions = ({ sessions, accountChanges, events }: Dependencies) => ({
  /** False if the user is disabled, or needs another factor by now. */
  begin: async (sql: Transaction, { user, sid, applicationId, proof, client }: NewDeviceSession) => {
    const initialProof = { methods: proof.methods as readonly AmrMethod[], inherited: proof }
    const issued = await sessions.beginSession(sql, user, initialProof, client, sid)
    if (!issued) return false
    await assignToApplication(sql, sid, applicationId)
    await accountChanges.bySignIn(sql, { user: { ...user, ...issued.user }, client }, { new_device: {} })
    const about = { userId: user.id, sessionId: sid, sessionBeganBy: 'device' } as const
    await events.recordInside(sql, { kind: 'signed_in', reason: 'device', ...about }, client)
    return true
  },
})
