import { createApplicationErrors } from '../applications/application-errors.js'
import { createApplicationSecrets } from '../applications/application-secrets.js'
import { applicationIssuer } from '../applications/applications.js'
import { createConsents } from '../applications/used-applications.js'
import { createLoadedApplicationKeys } from '../keys/signed-token.js'
import { createSigningKeys, idTokenKeys } from '../keys/signing-keys.js'
import type { Job } from '../platform/jobs.js'
import type { RoomPlatform, Rooms } from '../service/open-rooms.js'
import type { Config } from '../settings/config.js'
import { createDeviceSessions } from '../sign-in/new-sessions.js'
import { createAuthorizationRequests } from './authorize/authorization-requests.js'
import { openBackchannel } from './backchannel.js'
import { createDeviceRequests } from './device/device-requests.js'
import { createDeviceAuthorizations } from './device/devices.js'
import { createLogoutNoticeSender } from './logout/logout-notice-sender.js'
import { createAuthorizations, createTokenExchangeParts } from './token/authorizations.js'
import { createIdTokens, createLogoutTokens } from './token/id-tokens.js'

/** The nouns that sign tokens for applications. */
const createTokenNouns = ({ publicUrl }: Config, { database, clock, log }: RoomPlatform, { sealedValues }: Rooms) => {
  const applicationKeys = createSigningKeys(idTokenKeys, { database, clock, sealedValues })
  const loadedApplicationKeys = createLoadedApplicationKeys({ applicationKeys, clock, log })
  const signing = { applicationKeys: loadedApplicationKeys, clock, issuer: applicationIssuer(publicUrl) }
  return {
    applicationKeys,
    loadedApplicationKeys,
    idTokens: createIdTokens(signing),
    logoutTokens: createLogoutTokens(signing),
  }
}

/** The nouns of the OpenID provider. `openid-provider.ts` loads this file once there is an application. */
export const createOpenidNouns = (config: Config, platform: RoomPlatform, nouns: Rooms) => {
  const { database, clock, log, metrics } = platform
  const { applications } = nouns
  const tokenNouns = createTokenNouns(config, platform, nouns)
  const applicationSecrets = createApplicationSecrets({ database, clock })
  const applicationErrors = createApplicationErrors({ database, clock, log })
  const authorizationRequests = createAuthorizationRequests({ database, clock })
  const consents = createConsents({ database, clock })
  const deviceRequests = createDeviceRequests({ database, clock })
  const refreshTokens = { keys: nouns.keysFor('refresh tokens of applications'), grace: config.refreshGrace }
  const authorizationParts = { ...config, ...nouns, database, clock, refreshTokens }
  const authorizations = createAuthorizations(authorizationParts)
  const deviceSessions = createDeviceSessions(nouns)
  const exchange = createTokenExchangeParts(authorizationParts)
  const deviceAuthorizations = createDeviceAuthorizations({
    ...nouns,
    exchange,
    deviceRequests,
    deviceSessions,
    consents,
  })
  const logoutNoticeSender = createLogoutNoticeSender({
    database,
    clock,
    applications,
    logoutTokens: tokenNouns.logoutTokens,
    applicationErrors,
    outbound: openBackchannel(config),
    onOutcome: (outcome) => metrics?.countAttempt.logoutNotice(outcome),
    log,
  })
  return {
    ...tokenNouns,
    applications,
    applicationSecrets,
    applicationErrors,
    authorizationRequests,
    deviceRequests,
    consents,
    authorizations,
    deviceAuthorizations,
    logoutNoticeSender,
  }
}

export type OpenidNouns = ReturnType<typeof createOpenidNouns>

type BackgroundPart = { start(): void; stop(): Promise<unknown> }

/** The work in the background of an open provider: `parts`, which are started and stopped, and `jobs`, which the housekeeping runs. */
export const backgroundOf = ({
  applicationErrors,
  applicationKeys,
  loadedApplicationKeys,
  logoutNoticeSender,
}: OpenidNouns): { parts: readonly BackgroundPart[]; jobs: readonly Job[] } => ({
  parts: [logoutNoticeSender, applicationErrors, loadedApplicationKeys],
  jobs: [{ name: 'purge applicationKeys', run: applicationKeys.purge }],
})
