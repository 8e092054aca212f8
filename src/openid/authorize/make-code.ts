import type { Consents } from '../../applications/used-applications.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import { commitUnlessRefused, type Database, type Transaction } from '../../platform/database/database.js'
import type { EndStolen } from '../../sessions/rotation.js'
import type { TokenHolder } from '../../sessions/sessions.js'

import type { Authorizations } from '../token/authorizations.js'
import { sharedScopes } from '../token/user-claims.js'
import type { AuthorizationRequests } from './authorization-requests.js'
import { lacksConsent, type SignedInUser } from './next-question.js'
import { createTake, type PendingRequest } from './pending-request.js'

type Dependencies = {
  database: Database
  authorizationRequests: Pick<AuthorizationRequests, 'take'>
  authorizations: Pick<Authorizations, 'issueCodeInside'>
  consents: Pick<Consents, 'give' | 'scopesOf'>
  endStolen: EndStolen
}

export type MakeCode = ReturnType<typeof createMakeCode>

/** Makes one code for each request: one transaction uses the request up, stores the consent and writes the code. */
export const createMakeCode = ({ database, authorizations, consents, endStolen, ...deps }: Dependencies) => {
  const take = createTake(deps.authorizationRequests)

  /**
   * `issueCodeInside` has locked the user's row. So a withdrawal of the consent came earlier and is seen here, or it waits for the lock
   * and then ends the new code.
   */
  const stillAgrees = async (sql: Transaction, pending: PendingRequest, user: SignedInUser) => {
    const agreedTo = await consents.scopesOf(sql, user.id, pending.application.id)
    return !lacksConsent({ ...pending, user: { ...user, agreedTo } })
  }

  const make = (pending: PendingRequest, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) =>
    commitUnlessRefused(database, async (sql) => {
      const { application, request, visitor } = pending
      if (!(await take(sql, pending, user.id))) return refuse('over')
      const { redirectAddress, challenge, scopes, nonce, claims, acr } = request
      const content = {
        scopes,
        ...(nonce !== undefined && { nonce }),
        ...(claims && { claims }),
        ...(acr === '1' && { acr }),
      }
      const codeRequest = { application, redirectAddress, challenge, content, client: visitor.client }
      const outcome = await authorizations.issueCodeInside(sql, holder, codeRequest)
      if (isRefused(outcome)) return outcome
      if (hasAgreed) await consents.give(sql, user.id, application.id, sharedScopes(request))
      else if (!(await stillAgrees(sql, pending, user))) return refuse('consent_withdrawn')
      return outcome
    })

  /** If the refresh token was stolen, the session ends: copied cookies must not become the tokens of an application unnoticed. */
  return async (pending: PendingRequest, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) => {
    const outcome = await make(pending, holder, user, hasAgreed)
    if (isRefused(outcome) && outcome.refused === 'theft') await endStolen(holder.refreshToken, pending.visitor.client)
    return outcome
  }
}
