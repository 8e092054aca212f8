import type { Application } from '../../applications/applications.js'
import type { Sql } from '../../platform/database/database.js'
import type { AuthorizationRequest, AuthorizationRequests } from './authorization-requests.js'
import type { Visitor } from './visitor.js'

/** A request of an application, with the browser that brings it. */
export type PendingRequest = { application: Application; request: AuthorizationRequest; visitor: Visitor }

export const keyOf = ({ request, visitor }: PendingRequest) => ({ id: request.id, browser: visitor.browser })

/** Uses the request up. A request that is not stored can only be answered in the HTTP request that brought it. */
export const createTake =
  (authorizationRequests: Pick<AuthorizationRequests, 'take'>) =>
  async (sql: Sql, pending: PendingRequest, userId: string | undefined) =>
    !pending.request.isStored || (await authorizationRequests.take(sql, keyOf(pending), userId))
