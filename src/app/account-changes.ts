import { createAccountChanges } from '../domain/accounts/account-changes.js'
import { createAccountConsequences } from '../domain/accounts/account-consequences.js'
import { createAccountVoiding } from '../domain/accounts/account-voiding.js'
import { createChangeLimit } from '../domain/accounts/change-limit.js'
import type { Cache } from '../platform/cache/cache.js'
import type { Metrics } from '../platform/metrics/metrics.js'

type Dependencies = Omit<Parameters<typeof createAccountChanges>[0], 'applyConsequences' | 'changeLimit'> &
  Omit<Parameters<typeof createAccountConsequences>[0], 'voiding'> &
  Parameters<typeof createAccountVoiding>[0] & { cache: Cache; metrics: Metrics | undefined }

/** For the service and for commands alike. */
export const createAccountChangesNoun = (deps: Dependencies) => {
  const { cache, metrics } = deps
  const applyConsequences = createAccountConsequences({ ...deps, voiding: createAccountVoiding(deps) })
  const changeLimit = createChangeLimit({ cache, onLimited: (limiter) => metrics?.countRejection(limiter) })
  return createAccountChanges({ ...deps, applyConsequences, changeLimit })
}
