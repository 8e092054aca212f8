import { applicationIssuer } from '../../applications/applications.js'
import type { Server } from '../../http/server.js'
import type { pagesRoutes } from '../../pages/pages.routes.js'
import type { HttpParts, Platform } from '../../service/http-parts.js'
import type { Nouns } from '../../service/nouns.js'
import type { Config } from '../../settings/config.js'
import type { OpenidNouns } from '../openid-nouns.js'
import type { OpenidProvider } from '../openid-provider.js'
import { createAnswers } from './answers.js'
import { createBeginRequest } from './begin-request.js'
import { createMakeCode } from './make-code.js'
import { createAuthorize } from './openid-authorize.js'
import { openidAuthorizeRoutes } from './openid-authorize.routes.js'
import { createReportNoAccess } from './report-no-access.js'
import { createSignedInUsers } from './signed-in-users.js'

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
