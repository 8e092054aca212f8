import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Groups } from '../groups/groups.js'
import type { Keys } from '../keys/open-keys.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Transaction } from '../platform/database/database.js'
import type { Platform } from '../platform/platform.js'
import type { ConfiguredProviders, ProvidersRoom } from '../providers/open-providers.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import { createEnrolments } from './enrolments.js'
import { createMailSignIns } from './mail-sign-ins.js'
import { createNewSessions } from './new-sessions.js'
import { createOpenQuestions } from './open-questions.js'
import { createPendingSignIns, purgeUnfinished } from './pending-sign-ins.js'
import { createResetLinks } from './reset-links.js'
import { createSignIns } from './sign-ins.js'

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
export const openSignIn = (platform: Platform, below: Below) => {
  const parts = { ...platform, ...below }
  const pendingSignIns = createPendingSignIns(parts)
  const enrolments = createEnrolments({ ...parts, pendingSignIns })
  const waiting = { pendingSignIns, enrolments, questions: createOpenQuestions(parts) }
  const newSessions = createNewSessions({ ...parts, ...waiting })
  return {
    pendingSignIns,
    unfinishedSignIns: {
      purge: (sql: Transaction, limit: number) => purgeUnfinished({ ...parts, pendingSignIns }, sql, limit),
    },
    enrolments,
    signIns: createSignIns({ ...parts, ...waiting, newSessions }),
    mailSignIns: createMailSignIns(parts),
    resetLinks: createResetLinks(parts),
  }
}
