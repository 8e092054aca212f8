import { createAccountChanges } from '../domain/accounts/account-changes.js'
import { createAccountConsequences } from '../domain/accounts/account-consequences.js'
import { createAccountVoiding } from '../domain/accounts/account-voiding.js'

type Dependencies = Omit<Parameters<typeof createAccountChanges>[0], 'applyConsequences'> &
  Omit<Parameters<typeof createAccountConsequences>[0], 'voiding'> &
  Parameters<typeof createAccountVoiding>[0]

/** For the service and for commands alike. */
export const makeAccountChanges = (deps: Dependencies) => {
  const applyConsequences = createAccountConsequences({ ...deps, voiding: createAccountVoiding(deps) })
  return createAccountChanges({ ...deps, applyConsequences })
}
