import type { Undos } from '../account-changes/undos.js'
import { createApplicationChanges } from '../applications/application-changes.js'
import { createApplicationErrors } from '../applications/application-errors.js'
import { createApplicationSecrets } from '../applications/application-secrets.js'
import { type Applications, applicationIssuer } from '../applications/applications.js'
import type { UsedApplications } from '../applications/used-applications.js'
import { byProvider } from '../contract/providers.js'
import type { Passkeys } from '../factors/passkeys.js'
import { createCodeWaits } from '../factors/prove-code.js'
import type { Factors } from '../factors/second-factors.js'
import type { Groups } from '../groups/groups.js'
import { limiterKey, limiters } from '../http/limiters.js'
import { networkOf } from '../http/request-origin.js'
import type { SealedValues } from '../keys/sealed-values.js'
import { createSigningKeys, idTokenKeys } from '../keys/signing-keys.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import { recipientKey } from '../messages/mail-limits.js'
import { createWaitingMails } from '../messages/mails.js'
import { createStoredCounters } from '../platform/cache/postgres.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import { createWaitingRegistrations } from '../registration/pending-registrations.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Config } from '../settings/config.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { NameMarks } from '../users/usernames.js'
import type { Users } from '../users/users.js'
import {
  createApplicationObstacles,
  createMailObstacles,
  createNextSignInObstacles,
  createObstacles,
} from './obstacles.js'
import { createClearLimits } from './reached-limits.js'
import { createStats } from './stats.js'

export type OperatorNouns = ReturnType<typeof createOperatorNouns>

type Dependencies = {
  database: Database
  clock: Clock
  log: Log
  events: Events
  groups: Groups
  usedApplications: UsedApplications
  nameMarks: NameMarks
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
    applicationKeys: createSigningKeys(idTokenKeys, dependencies),
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
