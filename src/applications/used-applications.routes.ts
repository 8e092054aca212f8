import { Type } from 'typebox'
import { usedApplicationBody } from '../accounts/user-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, UsableApplication, UsedApplication } from '../contract/schemas.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { iconPath } from './applications.js'

/** A picture cannot run anything, also if a browser takes it for a page. */
const iconHeaders = {
  'content-type': 'image/png',
  'content-security-policy': "default-src 'none'",
  // The address changes with the picture.
  'cache-control': 'public, max-age=31536000, immutable',
}

export const usedApplicationsRoutes = (server: Server, app: App) => {
  const { guards, limits, callers, applications, usedApplications } = app
  route(server, `GET ${iconPath}/:id`, {
    hidden: true,
    guard: [limits.byNetwork],
    params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }),
    refuses: ['not_found', 'unavailable'],
    answers: {},
    handle: async ({ params, reply }) => {
      const png = await applications.iconOf(params.id)
      return png ? reply.headers(iconHeaders).send(png) : refuse('not_found')
    },
  })

  route(server, 'GET /api/auth/applications', {
    guard: guards.read,
    tag: 'account',
    summary: 'Applications that the caller has signed in to, last used first, and those that the caller may open',
    refuses: ['not_authenticated'],
    answers: {
      200: Type.Object({ applications: Type.Array(UsedApplication), usable: Type.Array(UsableApplication) }),
    },
    handle: async ({ request }) => {
      const { groups = [] } = callers.claimsOf(request) ?? {}
      const [used, usable] = await Promise.all([
        usedApplications.listOfUser(callers.of(request).userId),
        applications.usableBy(groups),
      ])
      return { applications: used.map(usedApplicationBody), usable }
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
