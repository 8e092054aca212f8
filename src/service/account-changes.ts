import { createAccountChanges, createChangeHeldAccount, createChangeLimit } from '../account-changes/account-changes.js'
import { createAccountConsequences, createAccountVoiding } from '../account-changes/consequences.js'

import type { Cache } from '../platform/cache/cache.js'
import type { Metrics } from '../platform/metrics/metrics.js'

type Dependencies = Omit<Parameters<typeof createAccountChanges>[0], 'changeHeldAccount' | 'changeLimit'> &
  Omit<Parameters<typeof createChangeHeldAccount>[0], 'applyConsequences'> &
  Omit<Parameters<typeof createAccountConsequences>[0], 'voiding'> &
  Parameters<typeof createAccountVoiding>[0] & { cache: Cache; metrics: Metrics | undefined }

/** Every change of an account: how it is made, what follows from it, and how many a session may cause. */
export const createAccountChangesNoun = (deps: Dependencies) => {
  const { cache, metrics } = deps
  const applyConsequences = createAccountConsequences({ ...deps, voiding: createAccountVoiding(deps) })
  const changeHeldAccount = createChangeHeldAccount({ ...deps, applyConsequences })
  const changeLimit = createChangeLimit({ cache, onLimited: (limiter) => metrics?.countRejection(limiter) })
  return createAccountChanges({ ...deps, changeHeldAccount, changeLimit })
}
