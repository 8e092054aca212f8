import type { FastifyRequest } from 'fastify'
import { createOncePerWindow } from '../http/limits.js'
import { clientNetwork, clientOf } from '../http/request-origin.js'

import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import type { Log } from '../platform/log.js'
import type { Metrics, RefusedCheck } from '../platform/metrics/metrics.js'

import type { AccessClaims } from '../sessions/tokens.js'

/** Whom the token named, if it was ours: of a refresh token that could not be exchanged, the session is known, too. */
type Named = Pick<AccessClaims, 'userId' | 'sid'>

/** A check with many parallel requests, or a page that asks again and again, causes one line in this time. */
const logWindow = 1 * minutes
const maxSessions = 5_000
const maxNetworks = 1_000

type Dependencies = {
  log: Pick<Log, 'info'>
  clock: Clock
  metrics: Pick<Metrics, 'countRefusedCheck'> | undefined
}

export type NoteRefusedCheck = ReturnType<typeof createNoteRefusedCheck>

/**
 * Counts and logs refused access checks: somebody asked for what their groups, their proofs or their token do not open. A request without
 * any token is not among them: it is a visitor. Only a token of ours can name a session, so tokens that strangers make up are told apart by
 * their network, and cannot fill the memory of sessions.
 */
export const createNoteRefusedCheck = ({ log, clock, metrics }: Dependencies) => {
  const isFirstOfSession = createOncePerWindow({ maxKeys: maxSessions, clock })
  const isFirstOfNetwork = createOncePerWindow({ maxKeys: maxNetworks, clock })

  return (request: FastifyRequest, reason: RefusedCheck, named?: Named, groups?: readonly string[]) => {
    metrics?.countRefusedCheck(reason)
    const isFirst = named ? isFirstOfSession(named.sid, logWindow) : isFirstOfNetwork(clientNetwork(request), logWindow)
    if (!isFirst) return
    const who = named && { userId: named.userId, sessionId: named.sid }
    const { ip } = clientOf(request)
    log.info({ requestId: request.id, reason, ...who, ...(groups && { groups }), ip }, 'access check refused')
  }
}
