import { createOperatorRecovery } from './operator-recovery.js'
import { createRestoredMail } from './restored-mail.js'
import { createTakeBack } from './take-back.js'
import { createUndoPreview } from './undo-preview.js'

type Dependencies = Parameters<typeof createUndoPreview>[0] &
  Parameters<typeof createRestoredMail>[0] &
  Omit<Parameters<typeof createTakeBack>[0] & Parameters<typeof createOperatorRecovery>[0], 'restoredMail'>

export type AccountRecovery = ReturnType<typeof createAccountRecovery>

/** Gives an account back to its owner: by the link of a mail about a change, or by an operator. */
export const createAccountRecovery = (deps: Dependencies) => {
  const restoredMail = createRestoredMail(deps)
  return {
    look: createUndoPreview(deps),
    takeBack: createTakeBack({ ...deps, restoredMail }),
    recover: createOperatorRecovery({ ...deps, restoredMail }),
  }
}
