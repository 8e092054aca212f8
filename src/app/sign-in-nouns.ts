import type { Config } from '../config.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'
import { createAccountClearing } from '../domain/accounts/account-clearing.js'
import { createAccountDeletion } from '../domain/accounts/account-deletion.js'
import { createFieldChanges } from '../domain/accounts/field-changes.js'
import { createGroupChanges } from '../domain/accounts/group-changes.js'
import { createLockDown } from '../domain/accounts/lock-down.js'
import { createOperatorChanges } from '../domain/accounts/operator-changes.js'
import { createOperatorRecovery } from '../domain/accounts/operator-recovery.js'
import { createResetLinks } from '../domain/accounts/reset-links.js'
import { createRestoredMail } from '../domain/accounts/restored-mail.js'
import { createTakeBack } from '../domain/accounts/take-back.js'
import { createUndoPreview } from '../domain/accounts/undo-preview.js'
import type { UsedApplications } from '../domain/authorizations/used-applications.js'
import type { EmailChanges } from '../domain/email-changes/email-changes.js'
import type { Events } from '../domain/events/events.js'
import { createTrustedDevices } from '../domain/factors/trusted-devices.js'
import type { Groups } from '../domain/groups/groups.js'
import type { Invitations } from '../domain/invitations/invitations.js'
import { createKnownDevices } from '../domain/known-devices/known-devices.js'
import type { MailedCodes } from '../domain/mailed-codes/mailed-codes.js'
import type { Mails } from '../domain/mails/mails.js'
import type { OneTimeTokens } from '../domain/one-time-tokens/one-time-tokens.js'
import { createCeremonies } from '../domain/passkeys/ceremonies.js'
import { createPasskeyCeremonies } from '../domain/passkeys/passkey-ceremonies.js'
import { createPasskeys } from '../domain/passkeys/passkeys.js'
import type { ProfileFields } from '../domain/profile-fields/profile-fields.js'
import { createProofs } from '../domain/proofs/proofs.js'
import { createIdentities } from '../domain/providers/identities.js'
import type { createProviders } from '../domain/providers/providers.js'
import type { SealedValues } from '../domain/sealed-values/sealed-values.js'
import type { EndedSessions } from '../domain/sessions/ended-sessions.js'
import { createEndStolen, createRotations } from '../domain/sessions/rotations.js'
import type { SessionLookups } from '../domain/sessions/session-lookups.js'
import type { Sessions } from '../domain/sessions/sessions.js'
import { createChallenges } from '../domain/sign-in/challenges.js'
import { createEnrolments } from '../domain/sign-in/enrolments.js'
import { createLeaving } from '../domain/sign-in/leaving.js'
import { createUnfinishedSignIns } from '../domain/sign-in/unfinished-sign-ins.js'
import type { Terms } from '../domain/terms/terms.js'
import type { Tokens } from '../domain/tokens/tokens.js'
import type { Undos } from '../domain/undos/undos.js'
import type { IdentityLinks } from '../domain/users/identity-links.js'
import type { NewUsers } from '../domain/users/new-users.js'
import type { UserChanges } from '../domain/users/user-changes.js'
import type { Usernames } from '../domain/users/usernames.js'
import type { Users } from '../domain/users/users.js'
import type { Webhooks } from '../domain/webhooks/webhooks.js'
import type { Clock } from '../lib/clock.js'
import type { Seal } from '../lib/seal.js'
import type { Cache } from '../platform/cache/cache.js'
import type { Database } from '../platform/database/database.js'
import type { Metrics, RefreshOutcome } from '../platform/metrics/metrics.js'
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
