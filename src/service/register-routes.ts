import { accessCheckRoutes, createNoteRefusedCheck, createRenewal } from '../access-check/access-check.routes.js'
import { accountRoutes, createProfile } from '../accounts/account.routes.js'
import { changeEmailRoutes, createChangeEmail } from '../accounts/change-email.routes.js'
import { confirmEmailRoutes, createConfirmationProofs, createConfirmEmail } from '../accounts/confirm-email.routes.js'
import { createDeleteOwnAccount, deleteAccountRoutes, leavingRoutes } from '../accounts/deletion.routes.js'
import { composeAccountData } from '../accounts/export.js'
import { createExportAccount, exportAccountRoutes } from '../accounts/export.routes.js'
import { createLink, createUnlink, linkedProvidersRoutes } from '../accounts/linked-providers.routes.js'
import {
  appReplacementRoutes,
  createAppReplacement,
  createOwnFactors,
  createTotpEnrolment,
  factorsRoutes,
} from '../accounts/own-factors.routes.js'
import { createEnrolmentPasskeys, createOwnPasskeys, passkeysRoutes } from '../accounts/own-passkeys.routes.js'
import { changePasswordRoutes, createChangePassword } from '../accounts/password.routes.js'
import { createUndo, undoRoutes } from '../accounts/undo.routes.js'
import { usedApplicationsRoutes } from '../applications/used-applications.routes.js'
import { signInPath } from '../contract/providers.js'
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
import { openidTokenRoutes } from '../openid/token/token.routes.js'
import { openidRevokeRoutes, openidUserinfoRoutes } from '../openid/token/userinfo.routes.js'
import { apiDocumentRoutes } from '../pages/api-document.routes.js'
import { devMailboxRoutes } from '../pages/dev-mailbox.routes.js'
import { contentRoutes, csrfExampleRoutes } from '../pages/example.routes.js'
import { withOwnTexts } from '../pages/own-page-words.js'
import { pagesRoutes } from '../pages/pages.routes.js'
import { brandMark } from '../pages/shell.js'
import { passwordStrengthRoutes } from '../passwords/password-strength.routes.js'
import { serviceGroupsRoutes } from '../programs/groups.routes.js'
import { serviceInvitationsRoutes } from '../programs/invitations.routes.js'
import { revocationsRoutes, signOutUserRoutes, tokensRoutes } from '../programs/sessions.routes.js'
import { serviceUserChangesRoutes, serviceUsersRoutes } from '../programs/users.routes.js'
import { createAcceptInvitation, inviteRoutes } from '../registration/invitations.routes.js'
import { createEnterInvited, createRegister, registerRoutes } from '../registration/register.routes.js'
import { setupRoutes } from '../registration/setup.routes.js'
import { createVerifyEmail, verifyEmailRoutes } from '../registration/verify-email.routes.js'
import { createOwnSessions, sessionsRoutes } from '../sessions/own-sessions.routes.js'
import { createLogout, csrfTokenRoutes, logoutRoutes, refreshRoutes } from '../sessions/session.routes.js'
import {
  createMailLogin,
  createMailRegistration,
  mailLoginRoutes,
  mailRegistrationRoutes,
} from '../sign-in/mail.routes.js'
import { createPasskeyLogin, passkeyLoginRoutes } from '../sign-in/passkey.routes.js'
import { createLogin, loginRoutes } from '../sign-in/password.routes.js'
import { createReturnToNotes, createSocialSignIn, socialSignInRoutes } from '../sign-in/provider.routes.js'
import { createResetPassword, resetPasswordRoutes } from '../sign-in/reset-password.routes.js'
import { enrolmentCodeRoutes, enrolmentPasswordRoutes, secondFactorRoutes } from '../sign-in/second-step.routes.js'
import { createProofHandlers, createStepUp } from '../sign-in/step-up.js'
import { stepUpRoutes } from '../sign-in/step-up.routes.js'

import type { App } from './open-http.js'

/** Flows of users for their own account. */
const registerAccountFlows = (server: Server, app: App) => {
  changeEmailRoutes(server, { ...app, changeEmail: createChangeEmail(app) })
  const confirmationProofs = createConfirmationProofs(app)
  const confirmEmail = createConfirmEmail({ ...app, confirmationProofs })
  confirmEmailRoutes(server, { ...app, confirmEmail })
  undoRoutes(server, { ...app, undo: createUndo(app) })
  accountRoutes(server, { ...app, profile: createProfile(app) })
  deleteAccountRoutes(server, { ...app, deleteOwnAccount: createDeleteOwnAccount(app) })
  const accountData = composeAccountData(app, app.clock)
  const exportAccount = createExportAccount({ ...app, accountData })
  exportAccountRoutes(server, { ...app, exportAccount })
  eventsRoutes(server, app)
  usedApplicationsRoutes(server, app)
}

/** Second factors and passkeys: signing in with them, adding and removing them. */
const registerFactorFlows = (server: Server, app: App) => {
  secondFactorRoutes(server, app)
  leavingRoutes(server, { ...app, accountData: composeAccountData(app, app.clock) })
  enrolmentCodeRoutes(server, app)
  const totpEnrolment = createTotpEnrolment(app)
  factorsRoutes(server, { ...app, ownFactors: createOwnFactors(app), totpEnrolment })
  appReplacementRoutes(server, { ...app, appReplacement: createAppReplacement(app) })
  passkeysRoutes(server, {
    ...app,
    ownPasskeys: createOwnPasskeys(app),
    enrolmentPasskeys: createEnrolmentPasskeys(app),
  })
  passkeyLoginRoutes(server, { ...app, passkeyLogin: createPasskeyLogin(app) })
}

/** Flows of a session that has begun. */
const registerSessionFlows = (server: Server, app: App) => {
  refreshRoutes(server, app)
  logoutRoutes(server, { ...app, logout: createLogout(app) })
  const proofHandlers = createProofHandlers(app)
  stepUpRoutes(server, { ...app, stepUp: createStepUp({ ...app, proofHandlers }) })
  sessionsRoutes(server, { ...app, ownSessions: createOwnSessions(app) })
  const noteRefusedCheck = createNoteRefusedCheck(app)
  accessCheckRoutes(server, { ...app, renewal: createRenewal(app), noteRefusedCheck })
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
  openidTokenRoutes(server, app, clientRoutes)
  deviceAuthorizationRoutes(server, app, clientRoutes)
  openidRevokeRoutes(server, clientRoutes)
  openidUserinfoRoutes(server, app, protocolDoor)
}

/** A new account, from the form or the invitation to the proof of its address. */
const registerRegistrationFlows = (server: Server, app: App) => {
  setupRoutes(server, app)
  const enterInvited = createEnterInvited(app)
  registerRoutes(server, { ...app, register: createRegister({ ...app, enterInvited }) })
  inviteRoutes(server, { ...app, acceptInvitation: createAcceptInvitation(app) })
  verifyEmailRoutes(server, { ...app, verifyEmail: createVerifyEmail(app) })
}

/** Signing in with a mailed code or link. Without MAIL_SIGN_IN these routes do not exist. */
const registerMailLogin = (server: Server, app: App) => {
  const mailRegistration = createMailRegistration(app)
  mailLoginRoutes(server, { ...app, mailLogin: createMailLogin(app), mailRegistration })
  mailRegistrationRoutes(server, { ...app, mailRegistration })
  enrolmentPasswordRoutes(server, app)
}

type Pages = ReturnType<typeof pagesRoutes>

/** The facts about this installation that the pages show. */
const installationOf = ({ config, ...app }: App) => ({
  theme: themeOf(config, app.design),
  providers: Object.values(app.providers).map(({ id, name }) => ({
    id,
    name,
    path: signInPath(id),
    logo: config.providers[id]?.logoUrl,
  })),
  registration: config.registration,
  usernames: config.usernames,
  secondFactor: config.secondFactor,
  mailSignIn: config.mailSignIn === 'on',
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
  const [{ previewRoutes }, { createMailPreview }] = await Promise.all([
    import('../pages/preview.routes.js'),
    import('../messages/mail-preview.js'),
  ])
  const mailPreview = createMailPreview(letterheadOf(config, { design, ownWords }))
  const brand = brandMark(themeOf(config, design))
  const hasAdminPage = config.adminGroup !== null
  previewRoutes(server, {
    look: { design, brand },
    mailPreview,
    drawPage: pages.drawPage,
    drawPlainPage: pages.drawPlainPage,
    hasAdminPage,
  })
}

/** Registers the routes of every room. Each routes file names its addresses, and docs/openapi.json lists all of them. */
export const registerAllRoutes = async (server: Server, app: App) => {
  const { config } = app
  const hasServiceKeys = config.serviceKeysFile !== undefined
  const routes = apiDocumentRoutes(server, { design: app.design, hasServiceKeys })
  loginRoutes(server, { ...app, login: createLogin(app) })
  // Where mail is off, the request for a mail says so.
  if (config.mailSignIn === 'on' || config.mailIsOff) registerMailLogin(server, app)
  registerRegistrationFlows(server, app)
  resetPasswordRoutes(server, { ...app, resetPassword: createResetPassword(app) })
  changePasswordRoutes(server, { ...app, changePassword: createChangePassword(app) })
  const noteReturnTo = createReturnToNotes(config.allowedOrigins)
  socialSignInRoutes(server, {
    ...app,
    noteReturnTo,
    socialSignIn: createSocialSignIn(app),
    afterSignIn: config.afterSignIn,
    allowedOrigins: config.allowedOrigins,
  })
  linkedProvidersRoutes(server, {
    ...app,
    link: createLink(app),
    unlink: createUnlink(app),
  })
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
    noteReturnTo,
    cookies: app.cookies,
    publicUrl: config.publicUrl,
    ...installationOf(app),
  })
  if (!config.production) await registerPreview(server, app, pages)
  openidEndSessionRoutes(server, app, pages, createLogout(app).here)
  openidAuthorizeRoutes(server, app, pages)
  openidDeviceRoutes(server, app, pages)
  return { pages, routes }
}
