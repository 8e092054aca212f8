import type { Config } from '../config.js'
import { createApplicationKeys } from '../domain/application-keys/application-keys.js'
import { createApplicationChanges } from '../domain/applications/application-changes.js'
import { createApplicationErrors } from '../domain/applications/application-errors.js'
import { applicationIssuer } from '../domain/applications/application-issuer.js'
import { createApplicationSecrets } from '../domain/applications/application-secrets.js'
import type { UsedApplications } from '../domain/authorizations/used-applications.js'
import type { Events } from '../domain/events/events.js'
import { createCodeWaits } from '../domain/factors/code-waits.js'
import type { Groups } from '../domain/groups/groups.js'
import { limiterKey } from '../domain/limiters/limiters.js'
import { createWaitingMails } from '../domain/mails/waiting-mails.js'
import { createWaitingRegistrations } from '../domain/registrations/waiting-registrations.js'
import type { SealedValues } from '../domain/sealed-values/sealed-values.js'
import { createStats } from '../domain/stats/stats.js'
import type { NameMarks } from '../domain/users/name-marks.js'
import type { Clock } from '../lib/clock.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'

export type OperatorStores = ReturnType<typeof operatorStores>

type Dependencies = {
  database: Database
  clock: Clock
  log: Log
  events: Events
  groups: Groups
  usedApplications: UsedApplications
  nameMarks: Pick<NameMarks, 'all'>
  sealedValues: SealedValues
}

const applicationStores = ({ production, publicUrl }: Config, dependencies: Dependencies) => {
  const applicationSecrets = createApplicationSecrets(dependencies)
  return {
    applicationSecrets,
    applicationErrors: createApplicationErrors(dependencies),
    applicationKeys: createApplicationKeys(dependencies),
    applicationChanges: createApplicationChanges({ ...dependencies, applicationSecrets, production }),
    /** Of ID tokens. */
    issuer: applicationIssuer(publicUrl),
  }
}

/** What only commands ask for: why a user cannot sign in, and how much there is of everything. */
export const operatorStores = (config: Config, dependencies: Dependencies) => {
  const { database, clock, nameMarks } = dependencies
  const { redisUrl, redisPrefix, loginLimit, loginLimitKnownDevices, sensitiveLimit, accountLimit } = config
  return {
    limits: {
      /** How many attempts a network has, by the name of the limiter. */
      ofNetworks: { login: loginLimit.maximum, confirm: loginLimit.maximum, sensitive: sensitiveLimit.maximum },
      /** How many attempts a known device has of its own; undefined if it shares those of its network. */
      ofDevices: loginLimitKnownDevices === 'own' ? loginLimit.maximum : undefined,
      /** How many attempts unknown devices have with one name. */
      ofNames: accountLimit.maximum,
      /** The counter of a name that is typed. Without the signing secret it cannot be found. */
      keysOfName: (name: string) => nameMarks.all(name).map((mark) => limiterKey('account', mark)),
      /** Undefined without REDIS_URL: then the counters are in the memory of the service. */
      openCounters: async () => {
        if (redisUrl === undefined) return undefined
        const { openSharedCounters } = await import('../platform/cache/shared-counters.js')
        return openSharedCounters(redisUrl, redisPrefix)
      },
    },
    ...applicationStores(config, dependencies),
    /** The wait of an account after wrong codes. */
    codeWaits: createCodeWaits({ database, clock }),
    waitingRegistrations: createWaitingRegistrations({ database, clock }),
    stats: createStats({ ...config, database, clock }),
    waitingMails: createWaitingMails({ database }),
  }
}
