import type { Config } from '../config.js'
import { byProvider } from '../contract/providers.js'
import { createApplicationKeys } from '../domain/application-keys/application-keys.js'
import { createApplicationChanges } from '../domain/applications/application-changes.js'
import { createApplicationErrors } from '../domain/applications/application-errors.js'
import { applicationIssuer } from '../domain/applications/application-issuer.js'
import { createApplicationSecrets } from '../domain/applications/application-secrets.js'
import type { Applications } from '../domain/applications/applications.js'
import type { UsedApplications } from '../domain/authorizations/used-applications.js'
import type { Events } from '../domain/events/events.js'
import { createCodeWaits } from '../domain/factors/code-waits.js'
import type { Factors } from '../domain/factors/factors.js'
import type { Groups } from '../domain/groups/groups.js'
import { limiterKey, limiters } from '../domain/limiters/limiters.js'
import { recipientKey } from '../domain/mails/mail-limits.js'
import { createWaitingMails } from '../domain/mails/waiting-mails.js'
import { createApplicationObstacles } from '../domain/obstacles/application-obstacles.js'
import { createClearLimits } from '../domain/obstacles/clear-limits.js'
import { createMailObstacles } from '../domain/obstacles/mail-obstacles.js'
import { createNextSignInObstacles } from '../domain/obstacles/next-sign-in.js'
import { createObstacles } from '../domain/obstacles/obstacles.js'
import type { Passkeys } from '../domain/passkeys/passkeys.js'
import type { ProfileFields } from '../domain/profile-fields/profile-fields.js'
import { createWaitingRegistrations } from '../domain/registrations/waiting-registrations.js'
import type { SealedValues } from '../domain/sealed-values/sealed-values.js'
import type { SessionLookups } from '../domain/sessions/session-lookups.js'
import { createStats } from '../domain/stats/stats.js'
import type { Terms } from '../domain/terms/terms.js'
import type { Undos } from '../domain/undos/undos.js'
import type { NameMarks } from '../domain/users/name-marks.js'
import type { Users } from '../domain/users/users.js'
import { networkOf } from '../http/client.js'
import type { Clock } from '../lib/clock.js'
import { createStoredCounters } from '../platform/cache/stored-counters.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'

export type OperatorNouns = ReturnType<typeof createOperatorNouns>

type Dependencies = {
  database: Database
  clock: Clock
  log: Log
  events: Events
  groups: Groups
  usedApplications: UsedApplications
  nameMarks: Pick<NameMarks, 'all'>
  factors: Factors
  passkeys: Passkeys
  sealedValues: SealedValues
  applications: Applications
  terms: Terms
  profileFields: ProfileFields
  undos: Undos
  users: Users
  sessionLookups: SessionLookups
}

/** The limits of sign-ins, and the counters of a name, a browser or a network. */
const signInLimitsOf = (config: Config, { database, clock, nameMarks }: Dependencies) => {
  const { redisUrl, redisPrefix } = config
  const { loginLimit, loginLimitKnownDevices, sensitiveLimit, accountLimit, mailSignIn } = config
  return {
    networkMaxima: { login: loginLimit.maximum, confirm: loginLimit.maximum, sensitive: sensitiveLimit.maximum },
    deviceMaximum: loginLimitKnownDevices === 'own' ? loginLimit.maximum : undefined,
    nameMaximum: accountLimit.maximum,
    keysOfName: (name: string) => nameMarks.all(name).map((mark) => limiterKey('account', mark)),
    keysOfMailbox: (email: string) =>
      nameMarks.all(recipientKey(email)).map((mark) => limiterKey('mail_sign_ins', mark)),
    mailboxMaximum: mailSignIn === 'on' ? limiters.mail_sign_ins.limit.maximum : undefined,
    networkOf,
    /** The shared counters. */
    openCounters: async () => {
      if (redisUrl !== undefined) {
        const { openSharedCounters } = await import('../platform/cache/shared-counters.js')
        return openSharedCounters(redisUrl, redisPrefix)
      }
      return createStoredCounters(database, clock)
    },
  }
}

const createApplicationNouns = ({ production, publicUrl }: Config, dependencies: Dependencies) => {
  const applicationSecrets = createApplicationSecrets(dependencies)
  return {
    applicationSecrets,
    applicationErrors: createApplicationErrors(dependencies),
    applicationKeys: createApplicationKeys(dependencies),
    applicationChanges: createApplicationChanges({ ...dependencies, applicationSecrets, production }),
    /** The issuer of ID tokens. */
    issuer: applicationIssuer(publicUrl),
  }
}

/** The nouns that only operators and administrators use: why a user cannot sign in, and how much there is of everything. */
export const createOperatorNouns = (config: Config, dependencies: Dependencies) => {
  const { database, clock } = dependencies
  const limits = signInLimitsOf(config, dependencies)
  /** The wait of an account after wrong codes. */
  const codeWaits = createCodeWaits({ database, clock })
  const waitingMails = createWaitingMails({ database })
  const configuredProviders = byProvider(config.providers).map(([id]) => id)
  return {
    limits,
    codeWaits,
    configuredProviders,
    obstacles: createObstacles({
      ...dependencies,
      limits,
      codeWaits,
      settings: {
        secondFactorRequired: config.secondFactor === 'required',
        mailSignIn: config.mailSignIn === 'on',
        mailIsOff: config.mailIsOff,
        configuredProviders,
      },
      otherFinders: [
        createNextSignInObstacles(dependencies),
        createApplicationObstacles(dependencies),
        createMailObstacles({ waitingMails }),
      ],
    }),
    clearLimits: createClearLimits({ ...dependencies, limits, codeWaits }),
    ...createApplicationNouns(config, dependencies),
    waitingRegistrations: createWaitingRegistrations({ database, clock }),
    stats: createStats({ ...config, database, clock }),
    waitingMails,
  }
}
