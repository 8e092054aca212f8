import type { OperatorContext } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { openAccounts } from '../accounts/open-accounts.js'
import { applicationIssuer } from '../applications/applications.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { ConfigurationRoom } from '../configuration/open-configuration.js'
import { byProvider } from '../contract/providers.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Groups } from '../groups/groups.js'
import { limiterKey, limiters } from '../http/limiters.js'
import { networkOf } from '../http/request-origin.js'
import type { Keys } from '../keys/open-keys.js'
import { recipientKey } from '../messages/mail-limits.js'
import { createWaitingMails } from '../messages/mails.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { createResourceChanges, createResources } from '../openid/resources/resources.js'
import type { PersonalTokensRoom } from '../personal-tokens/open-personal-tokens.js'
import { createStoredCounters } from '../platform/cache/postgres.js'
import type { Platform } from '../platform/platform.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import type { SignInRoom } from '../sign-in/open-sign-in.js'
import type { UsersRoom } from '../users/open-users.js'
import { createObstacles } from './obstacles.js'
import { clearLimits } from './reached-limits.js'
import { createStats } from './stats.js'

export type AdminRoom = ReturnType<typeof openAdmin>

type Below = Keys &
  UsersRoom &
  SessionsRoom &
  MessagesRoom & { groups: Groups } & ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom &
  ConfigurationRoom & { liveSettings: LiveSettingsReader }

/** What the rules of administrators' routes may use. `limits` of requests and those of sign-ins are two things. */
export type AdminServices = Platform &
  Below &
  RegistrationRoom &
  SignInRoom &
  PersonalTokensRoom &
  ReturnType<typeof openAccounts> &
  Omit<AdminRoom, 'limits'>

/** The limits of sign-ins, and the counters of a name, a browser or a network. */
const signInLimitsOf = (config: Config, { database, clock }: Platform, { nameMarks, liveSettings }: Below) => {
  const { redisUrl, redisPrefix } = config
  const { loginLimit, loginLimitKnownDevices, sensitiveLimit, accountLimit } = config
  return {
    networkMaxima: { login: loginLimit.maximum, confirm: loginLimit.maximum, sensitive: sensitiveLimit.maximum },
    deviceMaximum: loginLimitKnownDevices === 'own' ? loginLimit.maximum : undefined,
    nameMaximum: accountLimit.maximum,
    keysOfName: (name: string) => nameMarks.all(name).map((mark) => limiterKey('account', mark)),
    keysOfMailbox: (email: string) =>
      nameMarks.all(recipientKey(email)).map((mark) => limiterKey('mail_sign_ins', mark)),
    mailboxMaximum: () => (liveSettings.now().mailSignIn === 'on' ? limiters.mail_sign_ins.limit.maximum : undefined),
    networkOf,
    /** The shared counters. */
    openCounters: async () => {
      if (redisUrl !== undefined) {
        const { openSharedCounters } = await import('../platform/cache/redis.js')
        return openSharedCounters(redisUrl, redisPrefix)
      }
      return createStoredCounters(database, clock)
    },
  }
}

/** What only operators and administrators use: why a user cannot sign in, and how much there is of everything. */
export const openAdmin = (config: Config, platform: Platform, below: Below) => {
  const deps = { ...platform, ...below }
  const { publicUrl, production } = config
  const limits = signInLimitsOf(config, platform, below)
  const waitingMails = createWaitingMails(platform)
  const configuredProviders = byProvider(config.providers).map(([id]) => id)
  const settings = {
    now: below.liveSettings.now,
    mailIsOff: config.mailIsOff,
    configuredProviders,
  }
  return {
    limits,
    configuredProviders,
    obstacles: createObstacles({ ...deps, limits, waitingMails, settings }),
    clearLimits: (actor: OperatorContext) => clearLimits({ ...deps, limits }, actor),
    resources: createResources(platform),
    resourceChanges: createResourceChanges({ ...deps, production, publicUrl }),
    /** The issuer of ID tokens. */
    issuer: applicationIssuer(publicUrl),
    stats: createStats({ ...config, ...platform }),
    waitingMails,
  }
}
