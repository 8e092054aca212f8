import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { AppReplacements } from '../factors/totp.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'

import type { Users } from '../users/users.js'
import { totpBefore } from './recent-changes.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byCaller'>
  users: Pick<Users, 'findById'>
  sessionLookups: Pick<SessionLookups, 'isLive'>
  appReplacements: AppReplacements
  undos: Pick<Undos, 'openOf'>
}

/**
 * Replaces the authenticator app by another one. The former app works until then, so this is allowed where every account needs a second
 * factor, too. The routes let only fresh sessions in.
 */
export const createAppReplacement = (deps: Dependencies) => {
  const { accountChanges, users, sessionLookups, appReplacements, undos } = deps
  return {
    begin: async (caller: SessionCaller) => {
      const { userId, sessionId } = caller
      const user = await users.findById(userId)
      if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
      return appReplacements.begin({ userId, sessionId, account: user.email })
    },

    confirm: (context: CallerContext, code: string) =>
      accountChanges.byCaller(context, 'totp_replaced', async (sql, { id: userId }) => {
        const { sessionId } = context.caller
        const earlier = totpBefore(await undos.openOf(sql, userId))
        const replaced = await appReplacements.confirm(sql, { userId, sessionId, code }, earlier)
        return isRefused(replaced) ? replaced : { changes: { totp_replaced: { undo: replaced } } }
      }),
  }
}
