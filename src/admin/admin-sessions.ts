import type { AccountChanges } from '../account-changes/account-changes.js'
import type { Administrators } from '../sessions/administrators.js'
import type { CallerContext } from '../sessions/session-facts.js'

type Dependencies = {
  administrators: Pick<Administrators, 'markSession'>
  accountChanges: Pick<AccountChanges, 'byCaller'>
}

export type AdminSessions = ReturnType<typeof createAdminSessions>

/** At its first use as an administrator, a session is marked in the list of sessions, and its owner gets a mail. */
export const createAdminSessions = ({ administrators, accountChanges }: Dependencies) => ({
  begin: (context: CallerContext) =>
    accountChanges.byCaller(context, 'admin_session_began', async (sql) => {
      const isFirst = await administrators.markSession(sql, context.caller.sessionId)
      return { changes: isFirst ? { admin_session_began: {} } : {} }
    }),
})
