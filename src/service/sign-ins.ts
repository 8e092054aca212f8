import { createNextSteps } from '../factors/second-factors.js'
import { createNewSessions } from '../sign-in/new-sessions.js'
import { createLastAnswers, createLastSteps } from '../sign-in/open-questions.js'
import { createByCode, createByEnrolment, createByPasskey } from '../sign-in/second-proofs.js'
import { createFirstSteps, createSignIns } from '../sign-in/sign-ins.js'

type Steps = Parameters<typeof createFirstSteps>[0] &
  Parameters<typeof createByCode>[0] &
  Parameters<typeof createByPasskey>[0] &
  Parameters<typeof createByEnrolment>[0]
type Dependencies = Omit<Steps & Parameters<typeof createLastAnswers>[0], 'nextSteps' | 'newSessions' | 'lastSteps'> &
  Pick<Parameters<typeof createSignIns>[0], 'events' | 'challenges'> &
  Parameters<typeof createNextSteps>[0] &
  Omit<Parameters<typeof createNewSessions>[0], 'lastSteps'> &
  Omit<Parameters<typeof createLastSteps>[0], 'nextSteps'>

/** The ways to sign in, with the steps that they share: the first, the second and the last. */
export const createSignInSteps = (deps: Dependencies) => {
  const nextSteps = createNextSteps(deps)
  const lastSteps = createLastSteps({ ...deps, nextSteps })
  const newSessions = createNewSessions({ ...deps, lastSteps })
  const parts = { ...deps, nextSteps, lastSteps, newSessions }
  const signIns = createSignIns({
    ...parts,
    firstSteps: createFirstSteps(parts),
    bySecondFactor: createByCode(parts),
    byPasskey: createByPasskey(parts),
    byEnrolment: createByEnrolment(parts),
  })
  return { signIns, nextSteps, lastAnswers: createLastAnswers(parts) }
}
