import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Groups } from '../groups/groups.js'
import type { Keys } from '../keys/open-keys.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { ConfiguredProviders, ProvidersRoom } from '../providers/open-providers.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { UsersRoom } from '../users/open-users.js'
import { createEnrolments } from './enrolments.js'
import { createCompleteMailRegistration, createMailSignIns } from './mail-sign-ins.js'
import { createNewSessions } from './new-sessions.js'
import { createLastAnswers, createLastSteps } from './open-questions.js'
import { createChallenges, createUnfinishedSignIns } from './pending-sign-ins.js'
import { createResetLinks } from './reset-links.js'
import { createByCode, createByEnrolment, createByPasskey } from './second-proofs.js'
import { createFirstSteps, createSignIns } from './sign-ins.js'

export type SignInRoom = ReturnType<typeof openSignIn>

type Below = Keys &
  UsersRoom &
  SessionsRoom &
  MessagesRoom & { groups: Groups } & ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom &
  RegistrationRoom &
  ConfiguredProviders &
  ProvidersRoom

/** Who gets a session. Only this room begins sessions. */
export const openSignIn = (config: Config, platform: Platform, below: Below) => {
  const secondFactorRequired = config.secondFactor === 'required'
  const deps = { ...platform, ...below, secondFactorRequired }
  const challenges = createChallenges(deps)
  const enrolments = createEnrolments({ ...deps, challenges })
  const mailSignIns = createMailSignIns(deps)
  const withWaiting = { ...deps, challenges, enrolments, mailSignIns }
  const lastSteps = createLastSteps(withWaiting)
  const newSessions = createNewSessions({ ...withWaiting, lastSteps })
  const parts = { ...withWaiting, lastSteps, newSessions }
  const signIns = createSignIns({
    ...parts,
    firstSteps: createFirstSteps(parts),
    bySecondFactor: createByCode(parts),
    byPasskey: createByPasskey(parts),
    byEnrolment: createByEnrolment(parts),
  })
  return {
    challenges,
    enrolments,
    mailSignIns,
    completeMailRegistration: createCompleteMailRegistration(withWaiting),
    signIns,
    lastAnswers: createLastAnswers(parts),
    unfinishedSignIns: createUnfinishedSignIns(withWaiting),
    resetLinks: createResetLinks(deps),
  }
}
