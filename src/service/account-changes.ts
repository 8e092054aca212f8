import { createAccountChanges } from '../account-changes/account-changes.js'
import { createAccountConsequences } from '../account-changes/account-consequences.js'
import { createAccountVoiding } from '../account-changes/account-voiding.js'
import { createChangeHeldAccount } from '../account-changes/change-held-account.js'
import { createChangeLimit } from '../account-changes/change-limit.js'
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
