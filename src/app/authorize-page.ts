import type { Config } from '../config.js'
import { applicationIssuer } from '../domain/applications/application-issuer.js'
import { createSignedInUsers } from '../domain/authorization-requests/signed-in-users.js'
import { createAnswers } from '../flows/openid-authorize/answers.js'
import { createBeginRequest } from '../flows/openid-authorize/begin-request.js'
import { createMakeCode } from '../flows/openid-authorize/make-code.js'
import { createAuthorize } from '../flows/openid-authorize/openid-authorize.js'
import { openidAuthorizeRoutes } from '../flows/openid-authorize/openid-authorize.routes.js'
import { createReportNoAccess } from '../flows/openid-authorize/report-no-access.js'
import type { pagesRoutes } from '../flows/pages/pages.routes.js'
import type { Server } from '../http/server.js'
import type { HttpParts, Platform } from './http-parts.js'
import type { Nouns } from './nouns.js'
import type { OpenidNouns } from './openid-nouns.js'
import type { OpenidProvider } from './openid-provider.js'

type Dependencies = Platform & Nouns & HttpParts & { openidProvider: OpenidProvider }
type Pages = ReturnType<typeof pagesRoutes>

/** Registers the page to which applications send their users. Its parts are created at the first request while there is an application. */
export const registerAuthorizePage = (
  server: Server,
  { publicUrl }: Config,
  dependencies: Dependencies,
  pages: Pages,
) => {
  const createAuthorizeParts = (openid: OpenidNouns) => {
    const parts = { ...dependencies, ...openid, issuer: applicationIssuer(publicUrl) }
    const signedInUsers = createSignedInUsers(parts)
    return createAuthorize({
      ...parts,
      signedInUsers,
      beginRequest: createBeginRequest(parts),
      answers: createAnswers(parts),
      makeCode: createMakeCode(parts),
      reportNoAccess: createReportNoAccess(parts),
    })
  }
  let authorize: ReturnType<typeof createAuthorizeParts> | undefined
  openidAuthorizeRoutes(server, {
    ...dependencies,
    openAuthorize: async () => {
      const openid = await dependencies.openidProvider.open()
      if (openid) authorize ??= createAuthorizeParts(openid)
      return openid && authorize
    },
    sendPage: pages.protocolPage('authorize'),
    sendNotFound: pages.plainPage('not-found'),
    sendTooMany: pages.plainPage('too-many-requests'),
  })
}
