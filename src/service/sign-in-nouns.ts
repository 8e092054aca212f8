import { createFieldChanges } from '../account-changes/account-changes.js'
import type { Undos } from '../account-changes/undos.js'
import { createAccountDeletion, createLeaving } from '../accounts/deletion.js'
import type { EmailChanges } from '../accounts/email-changes.js'
import { createGroupChanges, createLockDown, createOperatorChanges } from '../accounts/operator-changes.js'
import {
  createAccountClearing,
  createOperatorRecovery,
  createRestoredMail,
  createTakeBack,
  createUndoPreview,
} from '../accounts/take-back.js'

import type { UsedApplications } from '../applications/used-applications.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'
import { createCeremonies, createPasskeyCeremonies } from '../factors/passkey-ceremonies.js'
import { createPasskeys } from '../factors/passkeys.js'
import { createProofs } from '../factors/second-factors.js'

import { createTrustedDevices } from '../factors/trusted-devices.js'
import type { Groups } from '../groups/groups.js'
import type { SealedValues } from '../keys/sealed-values.js'
import type { Clock } from '../lib/clock.js'
import type { Seal } from '../lib/seal.js'

import type { Events } from '../messages/events.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Mails } from '../messages/mails.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Webhooks } from '../messages/webhooks.js'

import type { Cache } from '../platform/cache/cache.js'
import type { Database } from '../platform/database/database.js'
import type { Metrics, RefreshOutcome } from '../platform/metrics/metrics.js'

import { createIdentities } from '../providers/identities.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { createProviders } from '../providers/providers.js'

import type { Invitations } from '../registration/invitations.js'
import type { EndedSessions } from '../sessions/ended-sessions.js'
import { createKnownDevices } from '../sessions/known-devices.js'
import { createEndStolen, createRotations } from '../sessions/rotation.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { Sessions } from '../sessions/sessions.js'
import type { Tokens } from '../sessions/tokens.js'

import type { Config } from '../settings/config.js'
import { createEnrolments } from '../sign-in/enrolments.js'
import { createChallenges, createUnfinishedSignIns } from '../sign-in/pending-sign-ins.js'
import { createResetLinks } from '../sign-in/reset-links.js'

import type { NewUsers } from '../users/new-users.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { Usernames } from '../users/usernames.js'
import type { UserChanges, Users } from '../users/users.js'

import { createAccountChangesNoun } from './account-changes.js'
import { createFactorNouns } from './factors.js'
import { createSignInSteps } from './sign-ins.js'

type Dependencies = {
  database: Database
  metrics: Metrics | undefined
  clock: Clock
  users: Users
  userChanges: UserChanges
  newUsers: NewUsers
  identityLinks: IdentityLinks
  usernames: Usernames
  sessions: Sessions
  sessionLookups: SessionLookups
  usedApplications: UsedApplications
  endedSessions: EndedSessions
  providers: ReturnType<typeof createProviders>
  sealedValues: SealedValues
  mails: Mails
  webhooks: Webhooks
  sealFor: (purpose: string) => Seal
  invitations: Invitations
  mailedCodes: MailedCodes
  undos: Undos
  tokens: Tokens
  groups: Groups
  profileFields: ProfileFields
  terms: Terms
  oneTimeTokens: OneTimeTokens
  emailChanges: EmailChanges
  events: Events
  cache: Cache
  keysFor: (purpose: string) => Buffer[]
}

/** The nouns that decide who gets a session, and what proves who a user is. */
export const createSignInNouns = (config: Config, deps: Dependencies) => {
  const { productName } = config
  const trustLifetime = config.trustedDevices === 'off' ? undefined : config.trustedDevices
  const { database, clock, metrics } = deps
  const providerName = (id: ProviderId) => config.providers[id]?.name ?? providerLabel(id)
  const trustedDevices = createTrustedDevices({ database, clock, lifetime: trustLifetime })
  const knownDevices = createKnownDevices({ keys: deps.keysFor('known device'), clock })
  const challenges = createChallenges({ database, clock })
  const accountChanges = createAccountChangesNoun({ ...deps, trustedDevices, challenges })
  const onRotation = (outcome: RefreshOutcome) => metrics?.countRefresh(outcome)
  const endStolen = createEndStolen({ ...deps, accountChanges, onRotation })
  const rotate = createRotations({ ...deps, endStolen, onRotation })
  const { factors, appReplacements } = createFactorNouns({ ...deps, accountChanges, productName })
  const { origin, hostname } = new URL(config.publicUrl)
  const relyingParty = { id: hostname, origin, name: productName }
  const passkeys = createPasskeys({ ...deps, relyingParty })
  const ceremonies = createCeremonies({ seal: deps.sealFor('passkey challenge'), clock })
  const passkeyCeremonies = createPasskeyCeremonies({ ...deps, ceremonies, relyingParty })
  const identities = createIdentities({ ...deps, accountChanges, nameOf: providerName })
  const enrolments = createEnrolments({ ...deps, challenges })
  const secondFactorRequired = config.secondFactor === 'required'
  const nouns = { accountChanges, identities, factors, trustedDevices, knownDevices, passkeys, challenges, enrolments }
  const fieldChanges = createFieldChanges({ ...deps, accountChanges })
  const signInSteps = createSignInSteps({ ...deps, ...nouns, fieldChanges, secondFactorRequired })
  const deleteAccount = createAccountDeletion(deps)
  const resetLinks = createResetLinks(deps)
  const operatorParts = { ...deps, accountChanges, factors, passkeys, deleteAccount, resetLinks, providerName }
  const operatorChanges = { ...createOperatorChanges(operatorParts), ...createLockDown(operatorParts) }
  const groupChanges = createGroupChanges({ ...deps, accountChanges })
  const unfinishedSignIns = createUnfinishedSignIns({ ...deps, accountChanges, challenges })
  const clear = createAccountClearing({ ...deps, factors, appReplacements, passkeys })
  const recoveryParts = { ...deps, accountChanges, passkeys, clear, restoredMail: createRestoredMail(deps) }
  const proofs = createProofs({ ...deps, factors, passkeys })
  return {
    ...nouns,
    appReplacements,
    passkeyCeremonies,
    rotate,
    endStolen,
    unfinishedSignIns,
    deleteAccount,
    operatorChanges,
    groupChanges,
    fieldChanges,
    resetLinks,
    undoPreview: createUndoPreview({ ...deps, factors, passkeys }),
    takeBackAccount: createTakeBack(recoveryParts),
    recoverAccount: createOperatorRecovery(recoveryParts),
    ...signInSteps,
    leaving: createLeaving({ ...deps, ...nouns, deleteAccount, proofs, freshFor: config.freshFor }),
    proofs,
    providerName,
  }
}
