import { type Application, mayUse } from '../../applications/applications.js'
import * as store from '../../applications/authorizations.store.js'

import { countFactors } from '../../contract/factors.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'

import { uuidv7 } from '../../lib/uuid.js'
import type { Events } from '../../messages/events.js'
import type { Transaction } from '../../platform/database/database.js'
import { epochSeconds } from '../../sessions/issue-tokens.js'
import { neverProven } from '../../sessions/session-facts.js'
import type { SessionProof } from '../../sessions/session-lookups.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'

import type { Users } from '../../users/users.js'
import { sharedScopes, type TokenContent } from './user-claims.js'

const codeLifetime = 60 * seconds

/** The request of the application. `content` leaves out how the session was proven, which the session itself says. */
export type CodeRequest = {
  application: Pick<Application, 'id' | 'name'>
  redirectAddress: string
  /** The S256 challenge of PKCE. */
  challenge?: string | undefined
  content: Omit<TokenContent, 'authTime' | 'methods' | 'secondFactor'>
  client: Client
}

type Dependencies = {
  clock: Clock
  users: Pick<Users, 'lockEnabled'>
  sessions: Pick<Sessions, 'lockOfHolder'>
  events: Pick<Events, 'recordInside'>
}

/**
 * When the user authenticated. A sign-in by mail or with a trusted device makes nothing fresh here, so its time is 0, but the user gave a
 * proof as the session began. A provider that says no time may have asked its user nothing: then nobody knows, and the claim is left out
 * (OpenID Connect Core 1.0, 2). The clock of the instance that stored the proof may be ahead, and `auth_time` must not be in the future.
 */
export const authTimeOf = ({ provenAt, begunAt, methods }: SessionProof, now: Date): Pick<TokenContent, 'authTime'> => {
  const isUnknown = provenAt <= neverProven && methods.every((method) => method === 'provider')
  const moment = provenAt > neverProven ? provenAt : begunAt
  return isUnknown ? {} : { authTime: Math.min(epochSeconds(moment), epochSeconds(now)) }
}

/**
 * Issues a code for the session of the holder. Rows are locked in the order in which everything that ends a session locks them (user,
 * session, application), so that a session that ends at the same moment leaves no code behind. A refusal has written nothing.
 */
export const createIssueCode =
  ({ clock, users, sessions, events }: Dependencies) =>
  async (sql: Transaction, holder: TokenHolder, request: CodeRequest) => {
    const { application, redirectAddress, challenge, client } = request
    const { userId, sessionId: sid } = holder
    const user = await users.lockEnabled(sql, userId)
    if (!user) return refuse('not_authenticated')
    const proof = await sessions.lockOfHolder(sql, holder)
    if (isRefused(proof)) return proof
    const [rules] = await store.holdApplication(sql, application.id)
    if (!rules || !mayUse(rules, user.groups)) return refuse('no_access')
    const now = clock.now()
    const scopes = sharedScopes(request.content)
    const applicationId = application.id
    const [authorization] = await store.upsertAuthorization(sql, {
      id: uuidv7(now),
      sid,
      applicationId,
      userId,
      scopes,
      now,
    })
    if (!authorization) throw new Error('An authorization was neither made nor found')
    if (authorization.is_first)
      await events.recordInside(
        sql,
        { kind: 'application_used', userId, sessionId: sid, reason: application.name },
        client,
      )
    const code = randomToken()
    await store.insertCode(sql, {
      hash: fingerprint(code),
      authorizationId: authorization.id,
      redirectAddress,
      challenge: challenge ?? null,
      content: {
        ...request.content,
        ...authTimeOf(proof, now),
        methods: [...proof.methods],
        secondFactor: countFactors(proof.methods) === 2,
      },
      lifetime: codeLifetime,
      clockOffset: clock.offset(),
    })
    return { code, sid }
  }
