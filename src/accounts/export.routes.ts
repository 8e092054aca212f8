import { AccountExport } from '../contract/account-export.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import type { Users } from '../users/users.js'
import type { createAccountData } from './export.js'

type ExportAccountDependencies = {
  users: Users
  accountData: ReturnType<typeof createAccountData>
}

/** Exports the data of the caller. */
export const createExportAccount =
  ({ users, accountData }: ExportAccountDependencies) =>
  async (userId: string) => {
    const user = await users.findEnabled(userId)
    return user ? accountData(user) : refuse('not_authenticated')
  }

const { responses, sendRefusal } = routeRefusals(
  'not_authenticated',
  'cross_site',
  'fresh_sign_in_required',
  'too_many_requests',
  'unavailable',
)

const schema = {
  tags: ['account'],
  summary: 'Everything that is stored about the caller; needs a fresh sign-in',
  response: {
    200: withHeaders(AccountExport, { 'Content-Disposition': 'A browser saves it as a file' }),
    ...responses,
  },
}

type ExportAccountRouteDependencies = {
  guards: Guards
  exportAccount: ReturnType<typeof createExportAccount>
  callers: Callers
}

export const exportAccountRoutes = (
  server: Server,
  { guards, exportAccount, callers }: ExportAccountRouteDependencies,
) => {
  const onRequest = guards.sensitiveRead
  server.get('/api/auth/export', { schema, onRequest }, async (request, reply) => {
    const collected = await exportAccount(callers.of(request).userId)
    if (isRefused(collected)) return sendRefusal(reply, collected)
    return reply.header('Content-Disposition', 'attachment; filename="account-data.json"').send(collected)
  })
}
