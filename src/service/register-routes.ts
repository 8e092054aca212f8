import { accessCheckRoutes } from '../access-check/access-check.routes.js'
import { forwardRoutes } from '../access-check/forward.routes.js'
import { hostRoutes } from '../access-check/host.routes.js'
import { resourceMetadataRoutes } from '../access-check/resource-metadata.routes.js'
import { wayBackRoutes } from '../access-check/way-back.routes.js'
import { accountRoutes, exportAccountRoutes } from '../accounts/account.routes.js'
import { changeEmailRoutes } from '../accounts/change-email.routes.js'
import { confirmEmailRoutes } from '../accounts/confirm-email.routes.js'
import { deleteAccountRoutes, leavingRoutes } from '../accounts/deletion.routes.js'
import { linkedProvidersRoutes } from '../accounts/linked-providers.routes.js'
import { appReplacementRoutes, factorsRoutes } from '../accounts/own-factors.routes.js'
import { passkeysRoutes } from '../accounts/own-passkeys.routes.js'
import { changePasswordRoutes } from '../accounts/password.routes.js'
import { undoRoutes } from '../accounts/undo.routes.js'
import { usedApplicationsRoutes } from '../applications/used-applications.routes.js'
import { signInPath } from '../contract/provider-paths.js'
import type { Client } from '../http/request-origin.js'
import type { Server } from '../http/server.js'
import { jwksRoutes } from '../keys/jwks.routes.js'
import { eventsRoutes } from '../messages/events.routes.js'
import { letterheadOf, themeOf } from '../messages/layout.js'
import { openidAuthorizeRoutes } from '../openid/authorize/authorize.routes.js'
import { createClientRoutes } from '../openid/client-authentication.js'
import { deviceAuthorizationRoutes, openidDeviceRoutes } from '../openid/device/device.routes.js'
import { openidDiscoveryRoutes } from '../openid/discovery.routes.js'
import { openidEndSessionRoutes } from '../openid/logout/end-session.routes.js'
import { createProtocolDoor } from '../openid/openid-door.js'
import {
  createValidTokens,
  openidRevokeRoutes,
  openidTokenRoutes,
  openidUserinfoRoutes,
} from '../openid/token/token.routes.js'
import { apiDocumentRoutes } from '../pages/api-document.routes.js'
import { devMailboxRoutes } from '../pages/dev-mailbox.routes.js'
import { contentRoutes, csrfExampleRoutes } from '../pages/example.routes.js'
import { healthRoutes } from '../pages/health.routes.js'
import { llmsRoutes } from '../pages/llms.routes.js'
import { withOwnTexts } from '../pages/own-page-words.js'
import { pagesRoutes } from '../pages/pages.routes.js'
import { brandMark } from '../pages/shell.js'
import { passwordStrengthRoutes } from '../passwords/password-strength.routes.js'
import { ownTokensRoutes } from '../personal-tokens/own-tokens.routes.js'
import { serviceGroupsRoutes } from '../programs/groups.routes.js'
import { serviceInvitationsRoutes } from '../programs/invitations.routes.js'
import { revocationsRoutes, signOutUserRoutes, tokensRoutes } from '../programs/sessions.routes.js'
import { serviceUserChangesRoutes, serviceUsersRoutes } from '../programs/users.routes.js'
import { inviteRoutes } from '../registration/invitations.routes.js'
import { registerRoutes } from '../registration/register.routes.js'
import { setupRoutes } from '../registration/setup.routes.js'
import { verifyEmailRoutes } from '../registration/verify-email.routes.js'
import { boundRoutes } from '../sessions/bound.routes.js'
import { sessionsRoutes } from '../sessions/own-sessions.routes.js'
import {
  csrfTokenRoutes,
  logoutRoutes,
  type OwnedSession,
  refreshRoutes,
  signOutHere,
} from '../sessions/session.routes.js'
import { askForMailRoutes, mailLoginRoutes, mailRegistrationRoutes } from '../sign-in/mail.routes.js'
import { passkeyLoginRoutes } from '../sign-in/passkey.routes.js'
import { loginRoutes } from '../sign-in/password.routes.js'
import { socialSignInRoutes } from '../sign-in/provider.routes.js'
import { resetPasswordRoutes } from '../sign-in/reset-password.routes.js'
import { enrolmentCodeRoutes, enrolmentPasswordRoutes, secondFactorRoutes } from '../sign-in/second-step.routes.js'
import { stepUpRoutes } from '../sign-in/step-up.routes.js'
import type { App } from './open-http.js'

/** What users do with their own account. */
const registerAccountFlows = (server: Server, app: App) => {
  changeEmailRoutes(server, app)
  confirmEmailRoutes(server, app)
  undoRoutes(server, app)
  accountRoutes(server, app)
  deleteAccountRoutes(server, app)
  exportAccountRoutes(server, app)
  eventsRoutes(server, app)
  usedApplicationsRoutes(server, app)
  ownTokensRoutes(server, app)
}

/** Second factors and passkeys: signing in with them, adding and removing them. */
const registerFactorFlows = (server: Server, app: App) => {
  secondFactorRoutes(server, app)
  leavingRoutes(server, app)
  enrolmentCodeRoutes(server, app)
  factorsRoutes(server, app)
  appReplacementRoutes(server, app)
  passkeysRoutes(server, app)
  passkeyLoginRoutes(server, app)
}

/** Flows of a session that has begun. */
const registerSessionFlows = (server: Server, app: App) => {
  refreshRoutes(server, app)
  boundRoutes(server, app)
  logoutRoutes(server, app)
  stepUpRoutes(server, app)
  sessionsRoutes(server, app)
  accessCheckRoutes(server, app)
}

/** Flows of other programs, which have a service key. */
const registerServiceFlows = (server: Server, app: App) => {
  serviceUsersRoutes(server, app)
  serviceUserChangesRoutes(server, app)
  serviceInvitationsRoutes(server, app)
  serviceGroupsRoutes(server, app)
  signOutUserRoutes(server, app)
  revocationsRoutes(server, app)
  tokensRoutes(server, app)
}

/** The requests that applications send by themselves, without a browser. */
const registerProtocolFlows = (server: Server, app: App) => {
  const protocolDoor = createProtocolDoor(app.openidProvider, app.clock, app.config)
  const clientRoutes = createClientRoutes(app, protocolDoor)
  const validTokens = createValidTokens()
  openidTokenRoutes(server, app, clientRoutes, validTokens)
  deviceAuthorizationRoutes(server, app, clientRoutes)
  openidRevokeRoutes(server, clientRoutes)
  openidUserinfoRoutes(server, app, protocolDoor, validTokens)
}

/** A new account, from the form or the invitation to the proof of its address. */
const registerRegistrationFlows = (server: Server, app: App) => {
  setupRoutes(server, app)
  registerRoutes(server, app)
  inviteRoutes(server, app)
  verifyEmailRoutes(server, app)
}

/** Signing in with a mailed code or link. While it is off, the answers are those of addresses that do not exist. */
const registerMailLogin = (server: Server, app: App) => {
  askForMailRoutes(server, app)
  mailLoginRoutes(server, app)
  mailRegistrationRoutes(server, app)
  enrolmentPasswordRoutes(server, app)
}

/** What pages show of the settings that can change: the same object until they do. */
const createLivePageSettings = ({ liveSettings }: App) => {
  let seen = liveSettings.now()
  const shown = () => ({ ...seen, mailSignIn: seen.mailSignIn === 'on' })
  let made = shown()
  return () => {
    if (seen === liveSettings.now()) return made
    seen = liveSettings.now()
    made = shown()
    return made
  }
}

type Pages = ReturnType<typeof pagesRoutes>

/** The facts about this installation that the pages show. */
const installationOf = (app: App, { config } = app) => ({
  theme: themeOf(config, app.design),
  providers: Object.values(app.providers).map(({ id, name }) => ({
    id,
    name,
    path: signInPath(id),
    logo: config.providers[id]?.logoUrl,
  })),
  live: createLivePageSettings(app),
  usernames: config.usernames,
  boundSessions: app.boundSessions.isOffered,
  mailIsOff: config.mailIsOff,
  afterSignIn: config.afterSignIn,
  allowedOrigins: config.allowedOrigins,
  hasMailbox: app.mailbox !== undefined,
  hasAdminPage: config.adminGroup !== null,
  registrationFields: app.profileFields.definitions.filter(({ registration }) => registration),
  terms: app.termsOfUse,
})

/** Registers the preview: every page and mail with the configured design and texts. It is for developers, and never in production. */
const registerPreview = async (server: Server, { config, design, ownWords }: App, pages: Pages) => {
  const { previewRoutes } = await import('../pages/preview.routes.js')
  previewRoutes(server, {
    look: { design, brand: brandMark(themeOf(config, design)) },
    letterhead: letterheadOf(config, { design, ownWords }),
    drawPage: pages.drawPage,
    drawPlainPage: pages.drawPlainPage,
    hasAdminPage: config.adminGroup !== null,
  })
}

/** Registers the routes of every room. Each routes file names its addresses, and docs/openapi.json lists all of them. */
export const registerAllRoutes = async (server: Server, app: App) => {
  const { config } = app
  const hasServiceKeys = config.serviceKeysFile !== undefined
  const routes = apiDocumentRoutes(server, { design: app.design, hasServiceKeys })
  loginRoutes(server, app)
  registerMailLogin(server, app)
  registerRegistrationFlows(server, app)
  resetPasswordRoutes(server, app)
  changePasswordRoutes(server, app)
  socialSignInRoutes(server, app)
  linkedProvidersRoutes(server, app)
  registerAccountFlows(server, app)
  registerFactorFlows(server, app)
  registerSessionFlows(server, app)
  jwksRoutes(server, app)
  openidDiscoveryRoutes(server, app)
  passwordStrengthRoutes(server, app)
  csrfTokenRoutes(server, app)
  csrfExampleRoutes(server, app)
  contentRoutes(server, app)
  registerServiceFlows(server, app)
  registerProtocolFlows(server, app)
  if (config.adminGroup !== null) {
    const { registerAdminRoutes } = await import('../admin/admin.routes.js')
    registerAdminRoutes(server, app)
  }
  if (app.mailbox) devMailboxRoutes(server, { mailbox: app.mailbox, design: app.design })
  const pages = pagesRoutes(server, {
    assets: withOwnTexts(app.assets, app.ownWords.pages),
    noteReturnTo: app.noteReturnTo,
    cookies: app.cookies,
    publicUrl: config.publicUrl,
    ...installationOf(app),
  })
  if (!config.production) {
    await registerPreview(server, app, pages)
    llmsRoutes(server, routes.list)
  }
  openidEndSessionRoutes(server, app, pages, (sessions, client) => signOutHere(app, sessions, client))
  openidAuthorizeRoutes(server, app, pages)
  openidDeviceRoutes(server, app, pages)
  wayBackRoutes(server, app, pages.plainPage('led-back'))
  const signOut = (session: OwnedSession, client: Client) => signOutHere(app, [session], client)
  forwardRoutes(server, app, hostRoutes(server, app, { sendHostPage: pages.hostPage, signOut }))
  resourceMetadataRoutes(server, app)
  healthRoutes(server, app)
  return { pages, routes }
}
