import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { ApplicationsRoom } from '../applications/open-applications.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Groups } from '../groups/groups.js'
import type { Client } from '../http/request-origin.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { PersonalTokensRoom } from '../personal-tokens/open-personal-tokens.js'
import type { Platform } from '../platform/platform.js'
import type { ConfiguredProviders, ProvidersRoom } from '../providers/open-providers.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { SignInRoom } from '../sign-in/open-sign-in.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import { createDeletion } from './deletion.js'
import { createEmailChanges } from './email-changes.js'
import { accountData } from './export.js'
import { createGroupChanges, createOperatorChanges } from './operator-changes.js'
import { type Recovery, recoverAccount, takeBackAccount, type UsedLink, undoPreview } from './take-back.js'

type Below = UsersRoom &
  SessionsRoom &
  MessagesRoom & { groups: Groups } & ApplicationsRoom &
  AccountChangesRoom &
  FactorsRoom &
  PersonalTokensRoom &
  RegistrationRoom &
  ConfiguredProviders &
  ProvidersRoom &
  SignInRoom

/** What people do with their own account, and operators with any. */
export const openAccounts = ({ freshFor }: Config, platform: Platform, below: Below) => {
  const emailChanges = createEmailChanges({ ...platform, ...below })
  const services = { ...platform, ...below, emailChanges, freshFor }
  return {
    emailChanges,
    deletion: createDeletion(services),
    operatorChanges: createOperatorChanges(services),
    groupChanges: createGroupChanges(services),
    accountData: (user: User) => accountData(services, user),
    undoPreview: (token: string) => undoPreview(services, token),
    takeBackAccount: (link: UsedLink, client: Client) => takeBackAccount(services, link, client),
    recoverAccount: (recovery: Recovery) => recoverAccount(services, recovery),
  }
}
