import { letterheadOf, themeOf } from '../config/theme.js'
import type { Config } from '../config.js'
import type { UsernameSource } from '../contract/pages.js'
import { signInPath } from '../contract/provider-paths.js'
import type { TermsOfUse } from '../contract/schemas.js'
import { applicationIssuer } from '../domain/applications/application-issuer.js'
import { createUserSearch } from '../domain/users/user-search.js'
import { accessCheckRoutes } from '../flows/access-check/access-check.routes.js'
import { createNoteRefusedCheck } from '../flows/access-check/refused-checks.js'
import { createRenewal } from '../flows/access-check/renewal.js'
import { accountRoutes } from '../flows/account/account.routes.js'
import { createProfile } from '../flows/account/profile.js'
import { apiDocumentRoutes } from '../flows/api-document/api-document.routes.js'
import { createChangeEmail } from '../flows/change-email/change-email.js'
import { changeEmailRoutes } from '../flows/change-email/change-email.routes.js'
import { createConfirmationProofs, createConfirmEmail } from '../flows/change-email/confirm-email.js'
import { confirmEmailRoutes } from '../flows/change-email/confirm-email.routes.js'
import { createChangePassword } from '../flows/change-password/change-password.js'
import { changePasswordRoutes } from '../flows/change-password/change-password.routes.js'
import { contentRoutes } from '../flows/content/content.routes.js'
import { csrfExampleRoutes } from '../flows/csrf-example/csrf-example.routes.js'
import { csrfTokenRoutes } from '../flows/csrf-token/csrf-token.routes.js'
import { createDeleteOwnAccount } from '../flows/delete-account/delete-account.js'
import { deleteAccountRoutes } from '../flows/delete-account/delete-account.routes.js'
import { devMailboxRoutes } from '../flows/dev-mailbox/dev-mailbox.routes.js'
import { eventsRoutes } from '../flows/events/events.routes.js'
import { createExportAccount } from '../flows/export-account/export-account.js'
import { exportAccountRoutes } from '../flows/export-account/export-account.routes.js'
import { createAppReplacement } from '../flows/factors/app-replacement.js'
import { appReplacementRoutes } from '../flows/factors/app-replacement.routes.js'
import { createOwnFactors, createTotpEnrolment } from '../flows/factors/factors.js'
import { factorsRoutes } from '../flows/factors/factors.routes.js'
import { createEnrolmentPasskeys, createOwnPasskeys } from '../flows/factors/passkeys.js'
import { passkeysRoutes } from '../flows/factors/passkeys.routes.js'
import { createAcceptInvitation } from '../flows/invite/accept-invitation.js'
import { inviteRoutes } from '../flows/invite/invite.routes.js'
import { jwksRoutes } from '../flows/jwks/jwks.routes.js'
import { createLink } from '../flows/linked-providers/link.js'
import { linkedProvidersRoutes } from '../flows/linked-providers/linked-providers.routes.js'
import { createUnlink } from '../flows/linked-providers/unlink.js'
import { createLogin } from '../flows/login/login.js'
import { loginRoutes } from '../flows/login/login.routes.js'
import { createLogout } from '../flows/logout/logout.js'
import { logoutRoutes } from '../flows/logout/logout.routes.js'
import { createMailLogin } from '../flows/mail-login/mail-login.js'
import { mailLoginRoutes } from '../flows/mail-login/mail-login.routes.js'
import { createMailRegistration } from '../flows/mail-login/mail-registration.js'
import { mailRegistrationRoutes } from '../flows/mail-login/mail-registration.routes.js'
import { deviceAuthorizationRoutes } from '../flows/openid-device/device-authorization.routes.js'
import { openidDiscoveryRoutes } from '../flows/openid-discovery/openid-discovery.routes.js'
import { createEndSession } from '../flows/openid-end-session/openid-end-session.js'
import { openidEndSessionRoutes } from '../flows/openid-end-session/openid-end-session.routes.js'
import { openidRevokeRoutes } from '../flows/openid-revoke/openid-revoke.routes.js'
import { openidTokenRoutes } from '../flows/openid-token/openid-token.routes.js'
import { openidUserinfoRoutes } from '../flows/openid-userinfo/openid-userinfo.routes.js'
import type { Assets } from '../flows/pages/assets.js'
import { brandMark } from '../flows/pages/brand.js'
import { withOwnTexts } from '../flows/pages/own-page-words.js'
import { pagesRoutes } from '../flows/pages/pages.routes.js'
import { createPasskeyLogin } from '../flows/passkey-login/passkey-login.js'
import { passkeyLoginRoutes } from '../flows/passkey-login/passkey-login.routes.js'
import { passwordStrengthRoutes } from '../flows/password-strength/password-strength.routes.js'
import { refreshRoutes } from '../flows/refresh/refresh.routes.js'
import { createEnterInvited } from '../flows/register/enter-invited.js'
import { createRegister } from '../flows/register/register.js'
import { registerRoutes } from '../flows/register/register.routes.js'
import { createResetPassword } from '../flows/reset-password/reset-password.js'
import { resetPasswordRoutes } from '../flows/reset-password/reset-password.routes.js'
import { enrolmentCodeRoutes } from '../flows/second-factor/enrolment-code.routes.js'
import { enrolmentPasswordRoutes } from '../flows/second-factor/enrolment-password.routes.js'
import { leavingRoutes } from '../flows/second-factor/leaving.routes.js'
import { secondFactorRoutes } from '../flows/second-factor/second-factor.routes.js'
import { serviceUserChangesRoutes } from '../flows/service/change-users.routes.js'
import { serviceGroupsRoutes } from '../flows/service/groups.routes.js'
import { serviceInvitationsRoutes } from '../flows/service/invitations.routes.js'
import { revocationsRoutes } from '../flows/service/revocations.routes.js'
import { signOutUserRoutes } from '../flows/service/sign-out-user.routes.js'
import { tokensRoutes } from '../flows/service/tokens.routes.js'
import { serviceUsersRoutes } from '../flows/service/users.routes.js'
import { createOwnSessions } from '../flows/sessions/sessions.js'
import { sessionsRoutes } from '../flows/sessions/sessions.routes.js'
import { setupRoutes } from '../flows/setup/setup.routes.js'
import { createSocialSignIn } from '../flows/social-sign-in/social-sign-in.js'
import { socialSignInRoutes } from '../flows/social-sign-in/social-sign-in.routes.js'
import { createProofHandlers } from '../flows/step-up/proof-handlers.js'
import { createStepUp } from '../flows/step-up/step-up.js'
import { stepUpRoutes } from '../flows/step-up/step-up.routes.js'
import { createUndo } from '../flows/undo/undo.js'
import { undoRoutes } from '../flows/undo/undo.routes.js'
import { usedApplicationsRoutes } from '../flows/used-applications/used-applications.routes.js'
import { createVerifyEmail } from '../flows/verify-email/verify-email.js'
import { verifyEmailRoutes } from '../flows/verify-email/verify-email.routes.js'
import { createDeletedAccounts, type DeletedAccounts } from '../http/deleted-accounts.js'
import { createNeedsMail, type NeedsMail } from '../http/needs-mail.js'
import { createClientAuthentication } from '../http/protocol/client-authentication.js'
import { createKnownClients } from '../http/protocol/known-clients.js'
import { createProtocolDoor } from '../http/protocol/protocol-door.js'
import { createRecoveredAccounts, type RecoveredAccounts } from '../http/recovered-accounts.js'
import { createReturnToNotes } from '../http/return-to-notes.js'
import type { Server } from '../http/server.js'
import { composeAccountData } from './account-data.js'
import { registerAuthorizePage } from './authorize-page.js'
import { registerDevicePage } from './device-page.js'
import type { HttpParts, Platform } from './http-parts.js'
import type { Nouns } from './nouns.js'
import type { OpenidProvider } from './openid-provider.js'

/** The terms of use with their version, if there are any. */
const termsOf = ({ termsVersion: version, termsUrl: url }: Config): TermsOfUse | undefined =>
  version === undefined || url === undefined ? undefined : { version, url }

type Parts = HttpParts & { openidProvider: OpenidProvider; assets: Assets; isClosing: () => boolean }
type Dependencies = Platform &
  Nouns &
  Parts & {
    secondFactorRequired: boolean
    usernameSource: UsernameSource
    termsOfUse: TermsOfUse | undefined
    recoveredAccounts: RecoveredAccounts
    deletedAccounts: DeletedAccounts
    needsMail: NeedsMail
  }

/** Flows of users for their own account. */
const registerAccountFlows = (server: Server, dependencies: Dependencies) => {
  changeEmailRoutes(server, { ...dependencies, changeEmail: createChangeEmail(dependencies) })
  const confirmationProofs = createConfirmationProofs(dependencies)
  const confirmEmail = createConfirmEmail({ ...dependencies, confirmationProofs })
  confirmEmailRoutes(server, { ...dependencies, confirmEmail })
  undoRoutes(server, { ...dependencies, undo: createUndo(dependencies) })
  accountRoutes(server, { ...dependencies, profile: createProfile(dependencies) })
  deleteAccountRoutes(server, { ...dependencies, deleteOwnAccount: createDeleteOwnAccount(dependencies) })
  const accountData = composeAccountData(dependencies, dependencies.clock)
  const exportAccount = createExportAccount({ ...dependencies, accountData })
  exportAccountRoutes(server, { ...dependencies, exportAccount })
  eventsRoutes(server, dependencies)
  usedApplicationsRoutes(server, dependencies)
}

/** Second factors and passkeys: signing in with them, adding and removing them. */
const registerFactorFlows = (server: Server, dependencies: Dependencies) => {
  secondFactorRoutes(server, dependencies)
  leavingRoutes(server, { ...dependencies, accountData: composeAccountData(dependencies, dependencies.clock) })
  enrolmentCodeRoutes(server, dependencies)
  const totpEnrolment = createTotpEnrolment(dependencies)
  factorsRoutes(server, { ...dependencies, ownFactors: createOwnFactors(dependencies), totpEnrolment })
  appReplacementRoutes(server, { ...dependencies, appReplacement: createAppReplacement(dependencies) })
  passkeysRoutes(server, {
    ...dependencies,
    ownPasskeys: createOwnPasskeys(dependencies),
    enrolmentPasskeys: createEnrolmentPasskeys(dependencies),
  })
  passkeyLoginRoutes(server, { ...dependencies, passkeyLogin: createPasskeyLogin(dependencies) })
}

/** Flows of a session that has begun. */
const registerSessionFlows = (server: Server, dependencies: Dependencies) => {
  refreshRoutes(server, dependencies)
  logoutRoutes(server, { ...dependencies, logout: createLogout(dependencies) })
  const proofHandlers = createProofHandlers(dependencies)
  stepUpRoutes(server, { ...dependencies, stepUp: createStepUp({ ...dependencies, proofHandlers }) })
  sessionsRoutes(server, { ...dependencies, ownSessions: createOwnSessions(dependencies) })
  const noteRefusedCheck = createNoteRefusedCheck(dependencies)
  accessCheckRoutes(server, { ...dependencies, renewal: createRenewal(dependencies), noteRefusedCheck })
}

/** Flows of other programs, which have a service key. */
const registerServiceFlows = (server: Server, { publicUrl }: Config, dependencies: Dependencies) => {
  serviceUsersRoutes(server, { ...dependencies, userSearch: createUserSearch(dependencies) })
  serviceUserChangesRoutes(server, dependencies)
  serviceInvitationsRoutes(server, dependencies)
  serviceGroupsRoutes(server, dependencies)
  signOutUserRoutes(server, dependencies)
  revocationsRoutes(server, dependencies)
  tokensRoutes(server, { ...dependencies, publicUrl })
}

/** The requests that applications send by themselves, without a browser. */
const registerProtocolFlows = (server: Server, { production, publicUrl }: Config, dependencies: Dependencies) => {
  const knownClients = createKnownClients({ clock: dependencies.clock, production })
  const shared = { ...dependencies, knownClients }
  const protocolDoor = createProtocolDoor(shared)
  const parts = { ...shared, protocolDoor, clientAuthentication: createClientAuthentication(shared) }
  openidTokenRoutes(server, parts)
  deviceAuthorizationRoutes(server, { ...parts, publicUrl })
  openidRevokeRoutes(server, parts)
  openidUserinfoRoutes(server, parts)
}

/** A new account, from the form or the invitation to the proof of its address. */
const registerRegistrationFlows = (server: Server, dependencies: Dependencies) => {
  setupRoutes(server, dependencies)
  const enterInvited = createEnterInvited(dependencies)
  registerRoutes(server, { ...dependencies, register: createRegister({ ...dependencies, enterInvited }) })
  inviteRoutes(server, { ...dependencies, acceptInvitation: createAcceptInvitation(dependencies) })
  verifyEmailRoutes(server, { ...dependencies, verifyEmail: createVerifyEmail(dependencies) })
}

/** Signing in with a mailed code or link. Without MAIL_SIGN_IN these routes do not exist. */
const registerMailLogin = (server: Server, dependencies: Dependencies) => {
  const mailRegistration = createMailRegistration(dependencies)
  mailLoginRoutes(server, { ...dependencies, mailLogin: createMailLogin(dependencies), mailRegistration })
  mailRegistrationRoutes(server, { ...dependencies, mailRegistration })
  enrolmentPasswordRoutes(server, dependencies)
}

type Pages = ReturnType<typeof pagesRoutes>

/** Registers the page to which an application sends its user to sign out. */
const registerEndSession = (server: Server, dependencies: Dependencies, pages: Pages) => {
  const signOut = createLogout(dependencies).here
  openidEndSessionRoutes(server, {
    ...dependencies,
    openEndSession: async () => {
      const openid = await dependencies.openidProvider.open()
      return openid && createEndSession({ ...dependencies, ...openid, signOut })
    },
    sendPage: pages.protocolPage('end-session'),
    sendNotFound: pages.plainPage('not-found'),
    sendTooMany: pages.plainPage('too-many-requests'),
  })
}

/** The facts about this installation that the pages show. */
const installationOf = (config: Config, platform: Platform, nouns: Nouns) => ({
  theme: themeOf(config, platform.design),
  providers: Object.values(nouns.providers).map(({ id, name }) => ({
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
  hasMailbox: platform.mailbox !== undefined,
  hasAdminPage: config.adminGroup !== null,
  registrationFields: nouns.profileFields.definitions.filter(({ registration }) => registration),
  terms: termsOf(config),
})

/** Registers the preview: every page and mail with the configured design and texts. It is for developers, and never in production. */
const registerPreview = async (server: Server, config: Config, { design, ownWords }: Platform, pages: Pages) => {
  const [{ previewRoutes }, { createMailPreview }] = await Promise.all([
    import('../flows/dev-mailbox/preview.routes.js'),
    import('../domain/mails/mail-preview.js'),
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

/** Registers all flows. Each routes file names its addresses, and docs/openapi.json lists all of them. */
export const registerFlows = async (server: Server, config: Config, platform: Platform, nouns: Nouns, parts: Parts) => {
  const dependencies: Dependencies = {
    ...platform,
    ...nouns,
    ...parts,
    secondFactorRequired: config.secondFactor === 'required',
    usernameSource: config.usernames,
    termsOfUse: termsOf(config),
    recoveredAccounts: createRecoveredAccounts({ ...nouns, ...parts }),
    deletedAccounts: createDeletedAccounts({ ...nouns, ...parts }),
    needsMail: createNeedsMail(config.mailIsOff),
  }
  const hasServiceKeys = config.serviceKeysFile !== undefined
  const routes = apiDocumentRoutes(server, { guards: parts.guards, design: platform.design, hasServiceKeys })
  loginRoutes(server, { ...dependencies, login: createLogin(dependencies) })
  // Where mail is off, the request for a mail says so.
  if (config.mailSignIn === 'on' || config.mailIsOff) registerMailLogin(server, dependencies)
  registerRegistrationFlows(server, dependencies)
  resetPasswordRoutes(server, { ...dependencies, resetPassword: createResetPassword(dependencies) })
  changePasswordRoutes(server, { ...dependencies, changePassword: createChangePassword(dependencies) })
  const noteReturnTo = createReturnToNotes(config.allowedOrigins)
  socialSignInRoutes(server, {
    ...dependencies,
    noteReturnTo,
    socialSignIn: createSocialSignIn(dependencies),
    afterSignIn: config.afterSignIn,
    allowedOrigins: config.allowedOrigins,
  })
  linkedProvidersRoutes(server, {
    ...dependencies,
    link: createLink(dependencies),
    unlink: createUnlink(dependencies),
  })
  registerAccountFlows(server, dependencies)
  registerFactorFlows(server, dependencies)
  registerSessionFlows(server, dependencies)
  jwksRoutes(server, dependencies)
  openidDiscoveryRoutes(server, { ...dependencies, issuer: applicationIssuer(config.publicUrl) })
  passwordStrengthRoutes(server, dependencies)
  csrfTokenRoutes(server, dependencies)
  csrfExampleRoutes(server, dependencies)
  contentRoutes(server, dependencies)
  registerServiceFlows(server, config, dependencies)
  registerProtocolFlows(server, config, dependencies)
  if (config.adminGroup !== null) {
    const { registerAdminFlows } = await import('./admin-flows.js')
    registerAdminFlows(server, config, dependencies)
  }
  if (platform.mailbox) devMailboxRoutes(server, { mailbox: platform.mailbox, design: platform.design })
  const pages = pagesRoutes(server, {
    assets: withOwnTexts(parts.assets, platform.ownWords.pages),
    noteReturnTo,
    cookies: parts.cookies,
    publicUrl: config.publicUrl,
    ...installationOf(config, platform, nouns),
  })
  if (!config.production) await registerPreview(server, config, platform, pages)
  registerEndSession(server, dependencies, pages)
  registerAuthorizePage(server, config, dependencies, pages)
  registerDevicePage(server, dependencies, pages)
  return { pages, routes }
}
