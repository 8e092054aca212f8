import { openMetrics, prepareMetrics } from './app/app-metrics.js'
import { createBackground, createLoad } from './app/background.js'
import { withPort } from './app/free-port.js'
import { makeNouns, type NounPlatform, type Nouns } from './app/nouns.js'
import { type Platform as OpenedPlatform, openPlatform } from './app/open-platform.js'
import { gated } from './app/prepare-database.js'
import { readServiceKeys } from './app/service-keys-file.js'
import { closeApp, type OpenedApp, type ServeOptions, serveApp } from './app/serving.js'
import { themeOf } from './config/theme.js'
import type { Config } from './config.js'
import { signInPath } from './contract/provider-paths.js'
import type { Workers } from './domain/passwords/workers.js'
import { createServiceKeys, type ServiceKeys } from './domain/service-keys/service-keys.js'
import { createActiveUsers } from './domain/stats/active-users.js'
import { accessCheckRoutes } from './flows/access-check/access-check.routes.js'
import { createFastLane } from './flows/access-check/fast-lane.js'
import { createRenewal } from './flows/access-check/renewal.js'
import { accountRoutes } from './flows/account/account.routes.js'
import { createProfile } from './flows/account/profile.js'
import { apiDocumentRoutes } from './flows/api-document/api-document.routes.js'
import { createChangeEmail } from './flows/change-email/change-email.js'
import { changeEmailRoutes } from './flows/change-email/change-email.routes.js'
import { createChangePassword } from './flows/change-password/change-password.js'
import { changePasswordRoutes } from './flows/change-password/change-password.routes.js'
import { contentRoutes } from './flows/content/content.routes.js'
import { csrfExampleRoutes } from './flows/csrf-example/csrf-example.routes.js'
import { csrfTokenRoutes } from './flows/csrf-token/csrf-token.routes.js'
import { createDeleteOwnAccount } from './flows/delete-account/delete-account.js'
import { deleteAccountRoutes } from './flows/delete-account/delete-account.routes.js'
import { devMailboxRoutes } from './flows/dev-mailbox/dev-mailbox.routes.js'
import { eventsRoutes } from './flows/events/events.routes.js'
import { createExportAccount } from './flows/export-account/export-account.js'
import { exportAccountRoutes } from './flows/export-account/export-account.routes.js'
import { createOwnFactors } from './flows/factors/factors.js'
import { factorsRoutes } from './flows/factors/factors.routes.js'
import { createOwnPasskeys } from './flows/factors/passkeys.js'
import { passkeysRoutes } from './flows/factors/passkeys.routes.js'
import { createHealth } from './flows/health/health.js'
import { healthRoutes } from './flows/health/health.routes.js'
import { inviteRoutes } from './flows/invite/invite.routes.js'
import { jwksRoutes } from './flows/jwks/jwks.routes.js'
import { createLink } from './flows/linked-providers/link.js'
import { linkedProvidersRoutes } from './flows/linked-providers/linked-providers.routes.js'
import { createUnlink } from './flows/linked-providers/unlink.js'
import { createLogin } from './flows/login/login.js'
import { loginRoutes } from './flows/login/login.routes.js'
import { createLogout } from './flows/logout/logout.js'
import { logoutRoutes } from './flows/logout/logout.routes.js'
import { loadAssets } from './flows/pages/assets.js'
import { pagesRoutes } from './flows/pages/pages.routes.js'
import { createPasskeyLogin } from './flows/passkey-login/passkey-login.js'
import { passkeyLoginRoutes } from './flows/passkey-login/passkey-login.routes.js'
import { passwordStrengthRoutes } from './flows/password-strength/password-strength.routes.js'
import { refreshRoutes } from './flows/refresh/refresh.routes.js'
import { createRegister } from './flows/register/register.js'
import { registerRoutes } from './flows/register/register.routes.js'
import { createResetPassword } from './flows/reset-password/reset-password.js'
import { resetPasswordRoutes } from './flows/reset-password/reset-password.routes.js'
import { secondFactorRoutes } from './flows/second-factor/second-factor.routes.js'
import { revocationsRoutes } from './flows/service/revocations.routes.js'
import { signOutUserRoutes } from './flows/service/sign-out-user.routes.js'
import { userLookupRoutes } from './flows/service/user-lookup.routes.js'
import { createOwnSessions } from './flows/sessions/sessions.js'
import { sessionsRoutes } from './flows/sessions/sessions.routes.js'
import { createSocialSignIn } from './flows/social-sign-in/social-sign-in.js'
import { socialSignInRoutes } from './flows/social-sign-in/social-sign-in.routes.js'
import { createStepUp } from './flows/step-up/step-up.js'
import { stepUpRoutes } from './flows/step-up/step-up.routes.js'
import { createUndo } from './flows/undo/undo.js'
import { undoRoutes } from './flows/undo/undo.routes.js'
import { createVerifyEmail } from './flows/verify-email/verify-email.js'
import { verifyEmailRoutes } from './flows/verify-email/verify-email.routes.js'
import { createAllowedOrigins } from './http/allowed-origins.js'
import { createCallers } from './http/caller.js'
import { createCookies } from './http/cookies/cookies.js'
import { createPendingLinkCookie } from './http/cookies/pending-link-cookie.js'
import { createSignInCookies } from './http/cookies/sign-in-cookies.js'
import { createAttemptCookies, createCeremonyCookies } from './http/cookies/tab-cookies.js'
import { createCsrf } from './http/csrf.js'
import { createEnrolling } from './http/enrolling.js'
import { createFreshness } from './http/freshness.js'
import { createGuards } from './http/guards.js'
import { createLimitedEvents } from './http/limited-events.js'
import { createLimits } from './http/limits.js'
import { createReturnToNotes } from './http/return-to-notes.js'
import { createServer, type Server } from './http/server.js'
import { createServiceCallers } from './http/service-callers.js'
import { type Clock, systemClock } from './lib/clock.js'
import { createLog, type Log } from './platform/log.js'

type Platform = OpenedPlatform & NounPlatform & { serviceKeys: ServiceKeys }

/** What routes use: cookies, the access check, CSRF, limits. */
const makeGates = (config: Config, platform: Platform, nouns: Nouns, clock: Clock) => {
  const { tokens, loadedKeys, keysFor, attempts, links, events, sessions, proofs, knownDevices, users } = nouns
  const cookies = createCookies({
    secure: config.production,
    host: new URL(config.publicUrl).hostname,
    domain: config.cookieDomain,
  })
  const callers = createCallers({ cookies, tokens, loadedKeys })
  const trustedFor = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const signInCookies = createSignInCookies({ cookies, callers, trustedFor })
  const csrf = createCsrf({ keys: keysFor('csrf'), cookies, callers, signInCookies })
  const reportLimited = createLimitedEvents({ events, clock })
  const limits = createLimits({
    cache: platform.cache,
    callers,
    login: config.loginLimit,
    general: config.generalLimit,
    sensitive: config.sensitiveLimit,
    account: config.accountLimit,
    signIns: config.signInLimit,
    networkSignIns: config.networkSignInLimit,
    networkMails: config.networkMailLimit,
    loginOfKnownDevices: config.loginLimitKnownDevices,
    nameMarks: nouns.nameMarks,
    knownDevices,
    signInCookies,
    users,
    onRejection: async (rejection, request) => {
      platform.metrics?.countRejection(rejection.limiter)
      await reportLimited(rejection, request)
    },
  })
  const freshness = createFreshness({ callers, sessions, proofs, clock, freshFor: config.freshFor })
  const attemptCookies = createAttemptCookies({ cookies, attempts })
  const enrolling = createEnrolling({ callers, csrf, signInCookies, freshness })
  const ceremonyCookies = createCeremonyCookies({ cookies })
  const pendingLink = createPendingLinkCookie({ cookies, links })
  const serviceCallers = createServiceCallers({ serviceKeys: platform.serviceKeys, limits, events, clock })
  const guards = createGuards({ callers, csrf, limits, freshness, enrolling, serviceCallers })
  return {
    guards,
    cookies,
    callers,
    csrf,
    limits,
    freshness,
    enrolling,
    signInCookies,
    attemptCookies,
    ceremonyCookies,
    pendingLink,
    serviceCallers,
    clock,
  }
}

type Gates = ReturnType<typeof makeGates> & { isClosing: () => boolean }
type Dependencies = Platform &
  Nouns &
  Gates & {
    /** Whether every account must have a second factor. */
    required: boolean
  }

/** What users do with their own account. */
const registerAccountVerbs = (server: Server, dependencies: Dependencies) => {
  changeEmailRoutes(server, { ...dependencies, changeEmail: createChangeEmail(dependencies) })
  undoRoutes(server, { ...dependencies, undo: createUndo(dependencies) })
  accountRoutes(server, { ...dependencies, profile: createProfile(dependencies) })
  deleteAccountRoutes(server, { ...dependencies, deleteOwnAccount: createDeleteOwnAccount(dependencies) })
  exportAccountRoutes(server, { ...dependencies, exportAccount: createExportAccount(dependencies) })
}

/** Second factors and passkeys: signing in with them, adding and removing them. */
const registerFactorVerbs = (server: Server, dependencies: Dependencies) => {
  secondFactorRoutes(server, dependencies)
  factorsRoutes(server, { ...dependencies, ownFactors: createOwnFactors(dependencies) })
  passkeysRoutes(server, { ...dependencies, ownPasskeys: createOwnPasskeys(dependencies) })
  passkeyLoginRoutes(server, { ...dependencies, passkeyLogin: createPasskeyLogin(dependencies) })
}

/** The verbs. Each routes file names its addresses; docs/openapi.json lists all of them. */
const registerVerbs = async (server: Server, config: Config, platform: Platform, nouns: Nouns, gates: Gates) => {
  const dependencies = { ...platform, ...nouns, ...gates, required: config.secondFactor === 'required' }
  const routes = apiDocumentRoutes(server, { guards: gates.guards, accent: config.accentColor })
  loginRoutes(server, { ...dependencies, login: createLogin(dependencies) })
  registerRoutes(server, { ...dependencies, register: createRegister(dependencies) })
  inviteRoutes(server, dependencies)
  verifyEmailRoutes(server, { ...dependencies, verifyEmail: createVerifyEmail(dependencies) })
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
  registerAccountVerbs(server, dependencies)
  registerFactorVerbs(server, dependencies)
  refreshRoutes(server, dependencies)
  logoutRoutes(server, { ...dependencies, logout: createLogout(dependencies) })
  stepUpRoutes(server, { ...dependencies, stepUp: createStepUp(dependencies) })
  sessionsRoutes(server, { ...dependencies, ownSessions: createOwnSessions(dependencies) })
  accessCheckRoutes(server, { ...dependencies, renewal: createRenewal(dependencies) })
  jwksRoutes(server, dependencies)
  eventsRoutes(server, dependencies)
  passwordStrengthRoutes(server, dependencies)
  csrfTokenRoutes(server, dependencies)
  csrfExampleRoutes(server, dependencies)
  contentRoutes(server, dependencies)
  userLookupRoutes(server, dependencies)
  signOutUserRoutes(server, dependencies)
  revocationsRoutes(server, dependencies)
  if (platform.mailbox) devMailboxRoutes(server, { mailbox: platform.mailbox, accent: config.accentColor })
  const pages = pagesRoutes(server, {
    assets: await loadAssets(),
    noteReturnTo,
    cookies: gates.cookies,
    theme: themeOf(config),
    providers: Object.values(nouns.providers).map(({ id, name }) => ({
      id,
      name,
      path: signInPath(id),
    })),
    registration: config.registration,
    secondFactor: config.secondFactor,
    afterSignIn: config.afterSignIn,
    allowedOrigins: config.allowedOrigins,
    hasMailbox: platform.mailbox !== undefined,
  })
  return { pages, routes }
}

type Options = ServeOptions & {
  clock?: Clock
  log?: Log
  /** Threads for passwords that are shared with other services in this process, and stay open. */
  workers?: Workers
}

/** Opens the stores and registers every route. No port is open yet, and the database may still be out of reach. */
const openApp = async (given: Config, { clock = systemClock, log: givenLog, workers }: Options) => {
  const config = await withPort(given)
  const log = givenLog ?? createLog({ level: config.logLevel })
  const serviceKeys = createServiceKeys(await readServiceKeys(config.serviceKeysFile), clock)
  const opened = await openPlatform({ config, clock, log, givenWorkers: workers })
  const status: OpenedApp['status'] = { isReady: false, closing: new AbortController() }
  const metrics = await openMetrics(config)
  const unprepared = opened.database
  const prepared = gated(unprepared, () => status.isReady)
  const platform = {
    ...opened,
    clock,
    log,
    metrics,
    serviceKeys,
    unprepared,
    database: prepared,
    leavesEventsToService: false,
  }
  const nouns = makeNouns(config, platform)
  const gates = makeGates(config, platform, nouns, clock)
  const { production, publicUrl, trustProxy, developmentHosts, healthTimeout: deadline } = config
  const allowedOrigins = createAllowedOrigins(config.allowedOrigins)
  const fastLane = createFastLane({ tokens: nouns.tokens, production, allowedOrigins, onAnswer: metrics?.countRequest })
  const serverOptions = { log, production, publicUrl, allowedOrigins, trustProxy, developmentHosts, fastLane }
  const { server, state: drainState, answerUnknown, drain } = createServer(serverOptions)
  server.addHook('onRequest', gates.callers.learnKey)
  const activeUsers = createActiveUsers({ database: prepared, clock })
  const startMetrics = prepareMetrics(config, metrics, { ...platform, ...nouns, activeUsers }, server)
  const { pages, routes } = await registerVerbs(server, config, platform, nouns, {
    ...gates,
    isClosing: () => drainState.isClosing,
  })
  const database = platform.database.ping
  const cache = platform.cache.ping
  const isStarting = () => !status.isReady
  const isDraining = () => drainState.isDraining
  healthRoutes(server, { health: createHealth({ clock, deadline, log, database, cache, isStarting, isDraining }) })
  answerUnknown(pages.notFound)
  const background = createBackground(platform, nouns)
  const { content } = nouns
  return {
    config,
    log,
    platform,
    nouns,
    database: unprepared,
    content,
    load: createLoad(platform, nouns),
    background,
    server,
    drainState,
    drain,
    startMetrics,
    status,
    routes,
  }
}

export type App = Awaited<ReturnType<typeof startApp>>

/** Opens and serves. What was opened is closed again when serving fails. */
export const startApp = async (given: Config, options: Options) => {
  const app = await openApp(given, options)
  const close = () => closeApp(app)
  try {
    const { prepared } = await serveApp(app, options)
    const { config, server, log, platform, nouns, status, routes } = app
    /** What can be changed without a restart. With a fault in the file the earlier keys stay. */
    const reload = async () => platform.serviceKeys.replace(await readServiceKeys(config.serviceKeysFile))
    return { config, server, log, platform, nouns, prepared, isReady: () => status.isReady, routes, reload, close }
  } catch (error) {
    await close()
    throw error
  }
}
