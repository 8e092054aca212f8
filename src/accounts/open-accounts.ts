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
import type { SignInRoom } from '../sign-in/open-sign-in.js'
import type { UsersRoom } from '../users/open-users.js'
import { createAccountDeletion, createLeaving } from './deletion.js'
import { createEmailChanges } from './email-changes.js'
import { createGroupChanges, createLockDown, createOperatorChanges } from './operator-changes.js'
import {
  createAccountClearing,
  createOperatorRecovery,
  createRestoredMail,
  createTakeBack,
  createUndoPreview,
} from './take-back.js'

type Below = Keys &
  UsersRoom &
  SessionsRoom &
  MessagesRoom & { groups: Groups } & ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom &
  RegistrationRoom &
  ConfiguredProviders &
  ProvidersRoom &
  SignInRoom

/** What people do with their own account, and operators with any. */
export const openAccounts = (config: Config, platform: Platform, below: Below) => {
  const emailChanges = createEmailChanges({ ...platform, ...below })
  const deps = { ...platform, ...below, emailChanges }
  const deleteAccount = createAccountDeletion(deps)
  const operatorParts = { ...deps, deleteAccount }
  const clear = createAccountClearing(deps)
  const recoveryParts = { ...deps, clear, restoredMail: createRestoredMail(deps) }
  return {
    emailChanges,
    deleteAccount,
    operatorChanges: { ...createOperatorChanges(operatorParts), ...createLockDown(operatorParts) },
    groupChanges: createGroupChanges(deps),
    undoPreview: createUndoPreview(deps),
    takeBackAccount: createTakeBack(recoveryParts),
    recoverAccount: createOperatorRecovery(recoveryParts),
    leaving: createLeaving({ ...deps, deleteAccount, freshFor: config.freshFor }),
  }
}
