import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { applicationIssuer } from '../applications/applications.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import { createConsents } from '../applications/used-applications.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Keys } from '../keys/open-keys.js'
import { createLoadedApplicationKeys } from '../keys/signed-token.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Job } from '../platform/jobs.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import type { UsersRoom } from '../users/open-users.js'
import { createAuthorizationRequests } from './authorize/authorization-requests.js'
import { createAuthorize } from './authorize/authorize.js'
import { openBackchannel } from './backchannel.js'
import { createDeviceRequests } from './device/device-requests.js'
import { createDevices } from './device/devices.js'
import { createLogoutNoticeSender } from './logout/logout-notice-sender.js'
import { createAuthorizations, createTokenExchange } from './token/authorizations.js'
import { createCodes } from './token/codes.js'
import { createIdTokens, createLogoutTokens } from './token/id-tokens.js'
import { type Refresh, refresh } from './token/refresh.js'

export type BelowOpenid = Keys &
  UsersRoom &
  SessionsRoom &
  MessagesRoom &
  ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom & { liveSettings: LiveSettingsReader }

export type OpenidRoom = ReturnType<typeof openOpenid>

/** The OpenID provider. `openid-door.ts` loads this file once there is an application. */
export const openOpenid = (config: Config, platform: Platform, below: BelowOpenid) => {
  const { database, clock, log, metrics } = platform
  const { applications, applicationSecrets, applicationErrors, applicationKeys, liveSettings } = below
  const issuer = applicationIssuer(config.publicUrl)
  const loadedApplicationKeys = createLoadedApplicationKeys({ applicationKeys, clock, log })
  const signing = { applicationKeys: loadedApplicationKeys, clock, issuer }
  const idTokens = createIdTokens(signing)
  const logoutTokens = createLogoutTokens(signing)
  const consents = createConsents(platform)
  const exchange = createTokenExchange(config, platform, below)
  const codes = createCodes(exchange)
  const deviceRequests = createDeviceRequests(platform)
  const ofClients = { ...below, ...exchange, consents }
  return {
    applications,
    applicationSecrets,
    applicationErrors,
    applicationKeys,
    loadedApplicationKeys,
    idTokens,
    logoutTokens,
    authorize: createAuthorize({
      ...ofClients,
      authorizationRequests: createAuthorizationRequests(platform),
      idTokens,
      codes,
      issuer,
    }),
    codes,
    refresh: (given: Refresh) => refresh(exchange, given),
    authorizations: createAuthorizations(exchange),
    deviceRequests,
    devices: createDevices({
      ...ofClients,
      deviceRequests,
      secondFactorRequired: () => liveSettings.now().secondFactor === 'required',
    }),
    logoutNoticeSender: createLogoutNoticeSender({
      database,
      clock,
      applications,
      logoutTokens,
      applicationErrors,
      outbound: openBackchannel(config),
      onOutcome: (outcome) => metrics?.countAttempt.logoutNotice(outcome),
      log,
    }),
  }
}

type BackgroundPart = { start(): void; stop(): Promise<unknown> }

/** The work in the background of an open provider: `parts`, which are started and stopped, and `jobs`, which the housekeeping runs. */
export const backgroundOf = ({
  applicationErrors,
  applicationKeys,
  loadedApplicationKeys,
  logoutNoticeSender,
}: OpenidRoom): { parts: readonly BackgroundPart[]; jobs: readonly Job[] } => ({
  parts: [logoutNoticeSender, applicationErrors, loadedApplicationKeys],
  jobs: [{ name: 'purge applicationKeys', run: applicationKeys.purge }],
})
