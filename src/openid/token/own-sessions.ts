import { refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { fingerprint } from '../../lib/random.js'
import { commitUnlessRefused, type Transaction } from '../../platform/database/database.js'
import { beginDeviceSession } from '../../sign-in/new-sessions.js'
import type { TokenExchange } from './authorizations.js'
import { accessTokenLifetime, type Grant } from './grants.js'
import * as store from './tokens.store.js'
import { sharedScopes } from './user-claims.js'

/** The ids, tokens and times that are written together when a session of its own begins. */
export type NewOwnSession = {
  client: { id: string; name: string }
  origin: RequestOrigin
  /** The session in which the user has agreed. */
  approvingSid: string
  grant: Grant
  resourceId?: string | undefined
  codeHash: Uint8Array | null
  refreshHash: Uint8Array
  tokensId: string
  issuedAt: Date
  /** Uses up what the user has approved. False if another use was first. */
  take: (sql: Transaction) => Promise<boolean>
}

/**
 * Begins a session that belongs to a device or a program alone: the user can end it without ending others, and it outlives the one of the
 * browser. Rows are locked in the order in which a code is issued: user, session, application, resource. The demands of the application and
 * the resource are checked on the finished rows, with the condition that every later use checks too. Statements run in the order in which
 * they are called, and a refusal takes all of them back.
 */
export const issueInOwnSession = (exchange: TokenExchange, made: NewOwnSession) =>
  commitUnlessRefused(exchange.database, async (sql) => {
    const { clock, moments, users, sessionLookups, events } = exchange
    const { client, origin, grant, resourceId } = made
    const { authorizationId, sid, content, accessToken, subject } = grant
    const userId = subject.id
    const [user, proof, , [resource]] = await Promise.all([
      users.lockEnabled(sql, userId),
      sessionLookups.lockLive(sql, { sessionId: made.approvingSid, userId }),
      store.holdApplication(sql, client.id),
      resourceId === undefined ? [] : store.holdResource(sql, resourceId),
    ])
    if (!user || !proof || (resourceId !== undefined && !resource)) return refuse('ended')
    const session = { id: sid, applicationId: client.id, proof }
    if (
      !(await beginDeviceSession(exchange, sql, {
        user,
        session,
        client: origin,
        program: client.name,
        resource: resource?.name,
      }))
    )
      return refuse('ended')
    const scopes = resourceId === undefined ? sharedScopes(content) : content.scopes
    const newAuthorization = { id: authorizationId, sid, clientId: client.id, userId, scopes, resourceId }
    const { tokensId: id, codeHash, refreshHash, issuedAt } = made
    const newAccessToken = { hash: fingerprint(accessToken), lifetime: accessTokenLifetime }
    const tokens = { id, authorizationId, codeHash, refreshHash, content, issuedAt, accessToken: newAccessToken }
    const [, isTaken] = await Promise.all([
      store.upsertAuthorization(sql, { ...newAuthorization, now: clock.now() }),
      made.take(sql),
    ])
    if (!isTaken) return refuse('taken')
    const [, [authorizedRow]] = await Promise.all([
      store.insertOwnTokens(sql, tokens, moments()),
      store.selectStillAuthorized(sql, authorizationId, moments().live),
      events.recordInside(sql, { kind: 'application_used', userId, sessionId: sid, reason: client.name }, origin),
    ])
    return authorizedRow ? { done: true } : refuse('ended')
  })
