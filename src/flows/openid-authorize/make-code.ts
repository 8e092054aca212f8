import { isRefused, refuse } from '../../contract/outcome.js'
import type { AuthorizationRequests } from '../../domain/authorization-requests/authorization-requests.js'
import { lacksConsent, type SignedInUser } from '../../domain/authorization-requests/next-question.js'
import type { Authorizations } from '../../domain/authorizations/authorizations.js'
import type { Consents } from '../../domain/consents/consents.js'
import { sharedScopes } from '../../domain/id-tokens/user-claims.js'
import type { EndStolen } from '../../domain/sessions/rotations.js'
import type { TokenHolder } from '../../domain/sessions/sessions.js'
import { commitUnlessRefused } from '../../platform/database/commit-unless-refused.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import { type Asking, createTake } from './asking.js'

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
   * Checks the consent while the user's row is locked: a user who withdraws it has done so before, or waits for the lock and then ends
   * what is made here.
   */
  const stillAgrees = async (sql: Transaction, asking: Asking, user: SignedInUser) => {
    const agreedTo = await consents.scopesOf(sql, user.id, asking.application.id)
    return !lacksConsent({ ...asking, user: { ...user, agreedTo } })
  }

  const make = (asking: Asking, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) =>
    commitUnlessRefused(database, async (sql) => {
      const { application, request, visitor } = asking
      if (!(await take(sql, asking, user.id))) return refuse('over')
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
      else if (!(await stillAgrees(sql, asking, user))) return refuse('consent_withdrawn')
      return outcome
    })

  /** If the refresh token was stolen, the session ends: copied cookies must not become the tokens of an application unnoticed. */
  return async (asking: Asking, holder: TokenHolder, user: SignedInUser, hasAgreed: boolean) => {
    const outcome = await make(asking, holder, user, hasAgreed)
    if (isRefused(outcome) && outcome.refused === 'theft') await endStolen(holder.refreshToken, asking.visitor.client)
    return outcome
  }
}
