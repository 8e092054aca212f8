import { Type } from 'typebox'
import { usedApplicationBody } from '../accounts/user-bodies.js'
import { isRefused } from '../contract/outcome.js'
import { NoContent, UsedApplication } from '../contract/schemas.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'

export const usedApplicationsRoutes = (server: Server, { guards, callers, usedApplications }: App) => {
  route(server, 'GET /api/auth/applications', {
    guard: guards.read,
    tag: 'account',
    summary: 'Applications that the caller has signed in to, last used first',
    refuses: ['not_authenticated'],
    answers: { 200: Type.Object({ applications: Type.Array(UsedApplication) }) },
    handle: async ({ request }) => {
      const used = await usedApplications.listOfUser(callers.of(request).userId)
      return { applications: used.map(usedApplicationBody) }
    },
  })

  // No fresh sign-in is needed, because this takes away no more than a sign-out does.
  route(server, 'DELETE /api/auth/applications/:id', {
    guard: guards.change,
    tag: 'account',
    summary: 'End the access of an application, in all sessions of the caller',
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }),
    refuses: ['not_found'],
    answers: { 204: NoContent },
    handle: async ({ request, params }) => {
      const ended = await usedApplications.endByCaller(callers.contextOf(request), params.id)
      return isRefused(ended) ? ended : undefined
    },
  })
}
