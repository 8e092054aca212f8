import { AccountExport } from '../contract/account-export.js'
import { refuse } from '../contract/outcome.js'
import { route, type Server, withHeaders } from '../http/route.js'
import type { App } from '../service/open-http.js'

export const exportAccountRoutes = (server: Server, { guards, callers, users, accountData }: App) =>
  route(server, 'GET /api/auth/export', {
    guard: guards.sensitiveRead,
    tag: 'account',
    summary: 'Everything that is stored about the caller; needs a fresh sign-in',
    refuses: ['cross_site', 'fresh_sign_in_required'],
    answers: { 200: withHeaders(AccountExport, { 'Content-Disposition': 'A browser saves it as a file' }) },
    handle: async ({ request, reply }) => {
      const user = await users.findEnabled(callers.of(request).userId)
      if (!user) return refuse('not_authenticated')
      reply.header('Content-Disposition', 'attachment; filename="account-data.json"')
      return accountData(user)
    },
  })
