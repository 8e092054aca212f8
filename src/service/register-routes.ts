import { accessCheckRoutes, createNoteRefusedCheck, createRenewal } from '../access-check/access-check.routes.js'
import { accountRoutes, createProfile } from '../accounts/account.routes.js'
import { changeEmailRoutes, createChangeEmail } from '../accounts/change-email.routes.js'
import { confirmEmailRoutes, createConfirmationProofs, createConfirmEmail } from '../accounts/confirm-email.routes.js'
import {
  createDeletedAccounts,
  createDeleteOwnAccount,
  type DeletedAccounts,
  deleteAccountRoutes,
  leavingRoutes,
} from '../accounts/deletion.routes.js'
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
import { createAdminLimit } from '../admin/admin-guard.js'
import { applicationIssuer } from '../applications/applications.js'
import { usedApplicationsRoutes } from '../applications/used-applications.routes.js'
import type { UsernameSource } from '../contract/pages.js'
import { signInPath } from '../contract/providers.js'
import type { TermsOfUse } from '../contract/schemas.js'
import { createFreshness } from '../factors/freshness.js'
import { createCeremonyCookies } from '../factors/passkey-ceremonies.js'
import { createCookies } from '../http/cookies.js'
import { createNeedsMail, type NeedsMail } from '../http/errors.js'
import { routeLimitersFor } from '../http/limiters.js'
import { createCountedRequests, createFindExcess, type OnRejection } from '../http/limits.js'
import type { Server } from '../http/server.js'
import { jwksRoutes } from '../keys/jwks.routes.js'
import { eventsRoutes } from '../messages/events.routes.js'
import { letterheadOf, themeOf } from '../messages/layout.js'
import { createAuthorizationLimit, registerAuthorizePage } from '../openid/authorize/authorize.routes.js'
import { createClientAuthentication } from '../openid/client-authentication.js'
import { createUserCodeLimit, deviceAuthorizationRoutes, registerDevicePage } from '../openid/device/device.routes.js'
import { openidDiscoveryRoutes } from '../openid/discovery.routes.js'
import { createKnownClients } from '../openid/known-clients.js'
import { createEndSession, openidEndSessionRoutes } from '../openid/logout/end-session.routes.js'
import { createProtocolDoor, type OpenidProvider } from '../openid/openid-door.js'
import { openidTokenRoutes } from '../openid/token/token.routes.js'
import { openidRevokeRoutes, openidUserinfoRoutes } from '../openid/token/userinfo.routes.js'
import { apiDocumentRoutes } from '../pages/api-document.routes.js'
import type { Assets } from '../pages/assets.js'
import { devMailboxRoutes } from '../pages/dev-mailbox.routes.js'
import { contentRoutes, csrfExampleRoutes } from '../pages/example.routes.js'
import { withOwnTexts } from '../pages/own-page-words.js'
import { pagesRoutes } from '../pages/pages.routes.js'
import { brandMark } from '../pages/shell.js'
import { passwordStrengthRoutes } from '../passwords/password-strength.routes.js'
import { serviceGroupsRoutes } from '../programs/groups.routes.js'
import { serviceInvitationsRoutes } from '../programs/invitations.routes.js'
import { createServiceCallers } from '../programs/service-callers.js'
import type { ServiceKeys } from '../programs/service-keys.js'
import { revocationsRoutes, signOutUserRoutes, tokensRoutes } from '../programs/sessions.routes.js'
import { serviceUserChangesRoutes, serviceUsersRoutes } from '../programs/users.routes.js'
import { createAttemptCookies } from '../providers/attempts.js'
import { createAcceptInvitation, inviteRoutes } from '../registration/invitations.routes.js'
import { createEnterInvited, createRegister, registerRoutes } from '../registration/register.routes.js'
import { setupRoutes } from '../registration/setup.routes.js'
import { createVerifyEmail, verifyEmailRoutes } from '../registration/verify-email.routes.js'
import { type Callers, createBrowserSessions, createCallers } from '../sessions/callers.js'
import { createCsrf } from '../sessions/csrf.js'
import { createGuards, createLimitedEvents, createLimits, createReserveRotation } from '../sessions/guards.js'
import { createOwnSessions, sessionsRoutes } from '../sessions/own-sessions.routes.js'
import { createLogout, csrfTokenRoutes, logoutRoutes, refreshRoutes } from '../sessions/session.routes.js'
import { createSignInCookies, type SignInCookies } from '../sessions/session-cookies.js'
import type { Config } from '../settings/config.js'
import { createPendingLinkCookie, createRecoveredAccounts, type RecoveredAccounts } from '../sign-in/answers.js'
import { createCeilings } from '../sign-in/ceilings.js'
import { createEnrolling } from '../sign-in/enrol-guard.js'
import {
  createKnownBrowsers,
  createMailLimits,
  createMailSignInLimits,
  createPasswordGuesses,
  createSignInLimits,
} from '../sign-in/guess-limits.js'
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
import { createUserSearch } from '../users/search.js'
import type { Platform as OpenedPlatform } from './open-platform.js'
import type { RoomPlatform, Rooms } from './open-rooms.js'

/** The terms of use with their version, if there are any. */
const termsOf = ({ termsVersion: version, termsUrl: url }: Config): TermsOfUse | undefined =>
  version === undefined || url === undefined ? undefined : { version, url }

type Parts = HttpParts & { openidProvider: OpenidProvider; assets: Assets; isClosing: () => boolean }
type Dependencies = Platform &
  Rooms &
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
const installationOf = (config: Config, platform: Platform, nouns: Rooms) => ({
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

/** Registers all flows. Each routes file names its addresses, and docs/openapi.json lists all of them. */
export const registerFlows = async (server: Server, config: Config, platform: Platform, nouns: Rooms, parts: Parts) => {
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
  const routes = apiDocumentRoutes(server, { design: platform.design, hasServiceKeys })
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
    const { registerAdminFlows } = await import('../admin/admin.routes.js')
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

type LimitPartsHttpParts = { callers: Callers; signInCookies: SignInCookies }

/** Creates the limiters: they count requests, and refuse those that are too many. */
const createLimitParts = (config: Config, platform: RoomPlatform, nouns: Rooms, parts: LimitPartsHttpParts) => {
  const { cache, metrics, clock } = platform
  const { callers, signInCookies } = parts
  const { loginLimit: login, generalLimit: general, sensitiveLimit: sensitive } = config
  const knownDeviceCounter = config.loginLimitKnownDevices
  const reportLimited = createLimitedEvents({ events: nouns.events, clock })
  const onRejection: OnRejection = async (rejection, request) => {
    metrics?.countRejection(rejection.limiter)
    await reportLimited(rejection, request)
  }
  const routeLimiters = routeLimitersFor({ login, general, sensitive })
  const countedRequests = createCountedRequests({ cache, onRejection })
  const findExcess = createFindExcess({ cache, onRejection })
  const ceilings = createCeilings({
    ...nouns,
    findExcess,
    limits: {
      registrations: config.totalRegistrationLimit,
      mails: config.totalMailLimit,
      waiting: config.totalWaitingLimit,
    },
  })
  const knownBrowsers = createKnownBrowsers({ knownDevices: nouns.knownDevices, signInCookies })
  const passwordGuesses = createPasswordGuesses({
    countedRequests,
    routeLimiters,
    nameLimit: config.accountLimit,
    knownDeviceCounter,
    nameMarks: nouns.nameMarks,
    knownBrowsers,
    callers,
    users: nouns.users,
  })
  return {
    countedRequests,
    ceilings,
    routeLimiters,
    passwordGuesses,
    authorizationLimit: createAuthorizationLimit({ countedRequests, ceilings, routeLimiters, callers }),
    userCodeLimit: createUserCodeLimit({ countedRequests, callers }),
    adminLimit: createAdminLimit({ countedRequests, routeLimiters, callers }),
    limits: createLimits({ countedRequests, routeLimiters, callers, passwordGuesses }),
    signInLimits: createSignInLimits({
      countedRequests,
      accountLimit: config.signInLimit,
      networkLimit: config.networkSignInLimit,
      knownDeviceCounter,
      cache,
      knownBrowsers,
    }),
    mailLimits: createMailLimits({
      cache,
      countedRequests,
      routeLimiters,
      strangerMailLimit: config.networkMailLimit,
      findExcess,
      ceilings,
    }),
    mailSignInLimits: createMailSignInLimits({ ...nouns, knownBrowsers, findExcess, ceilings }),
    reserveRotation: createReserveRotation({ cache, callers, routeLimiters, onRejection }),
  }
}

export type Platform = OpenedPlatform & RoomPlatform & { serviceKeys: ServiceKeys }

/** Creates the parts that routes share: cookies, callers, guards, CSRF, limits. */
export const createHttpParts = (config: Config, platform: Platform, nouns: Rooms) => {
  const { clock } = platform
  const { tokens, loadedKeys, keysFor, attempts, pendingLinks, events, sessionLookups, proofs } = nouns
  const cookies = createCookies({
    secure: config.production,
    host: new URL(config.publicUrl).hostname,
    domain: config.cookieDomain,
  })
  const callers = createCallers({ cookies, tokens, loadedKeys })
  const trustedFor = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const signInCookies = createSignInCookies({ cookies, callers, trustedFor })
  const csrf = createCsrf({ keys: keysFor('csrf'), cookies, callers, signInCookies })
  const limitParts = createLimitParts(config, platform, nouns, { callers, signInCookies })
  const { limits } = limitParts
  const freshness = createFreshness({ callers, sessionLookups, proofs, clock, freshFor: config.freshFor })
  const attemptCookies = createAttemptCookies({ cookies, attempts })
  const enrolling = createEnrolling({ callers, csrf, signInCookies, freshness })
  const ceremonyCookies = createCeremonyCookies({ cookies })
  const pendingLinkCookie = createPendingLinkCookie({ cookies, pendingLinks })
  const serviceCallers = createServiceCallers({
    serviceKeys: platform.serviceKeys,
    limits,
    events,
    clock,
  })
  const guards = createGuards({ callers, csrf, limits, freshness, enrolling, serviceCallers })
  return {
    guards,
    cookies,
    callers,
    browserSessionsOf: createBrowserSessions({ tokens }),
    csrf,
    ...limitParts,
    freshness,
    enrolling,
    signInCookies,
    attemptCookies,
    ceremonyCookies,
    pendingLinkCookie,
    serviceCallers,
  }
}

export type HttpParts = ReturnType<typeof createHttpParts>
