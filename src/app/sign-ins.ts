import { createFirstSteps } from '../domain/sign-in/first-steps.js'
import { createNewSessions } from '../domain/sign-in/new-sessions.js'
import { createNextSteps } from '../domain/sign-in/next-steps.js'
import { createByCode, createByEnrolment, createByPasskey } from '../domain/sign-in/second-steps.js'
import { createSignIns } from '../domain/sign-in/sign-ins.js'

type Steps = Parameters<typeof createFirstSteps>[0] &
  Parameters<typeof createByCode>[0] &
  Parameters<typeof createByPasskey>[0] &
  Parameters<typeof createByEnrolment>[0]
type Dependencies = Omit<Steps, 'nextSteps' | 'newSessions'> &
  Pick<Parameters<typeof createSignIns>[0], 'events' | 'challenges'> &
  Parameters<typeof createNextSteps>[0] &
  Parameters<typeof createNewSessions>[0]

/** The ways to sign in, with the first and second steps that they share. */
export const createSignInsNoun = (deps: Dependencies) => {
  const nextSteps = createNextSteps(deps)
  const newSessions = createNewSessions(deps)
  const parts = { ...deps, nextSteps, newSessions }
  return createSignIns({
    ...parts,
    firstSteps: createFirstSteps(parts),
    bySecondFactor: createByCode(parts),
    byPasskey: createByPasskey(parts),
    byEnrolment: createByEnrolment(parts),
  })
}
