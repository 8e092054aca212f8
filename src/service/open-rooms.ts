import {
  createAccountChanges,
  createChangeHeldAccount,
  createChangeLimit,
  createFieldChanges,
} from '../account-changes/account-changes.js'
import { createAccountConsequences, createAccountVoiding } from '../account-changes/consequences.js'
import { createUndos, type Undos } from '../account-changes/undos.js'
import { createAccountDeletion, createLeaving } from '../accounts/deletion.js'
import { createEmailChanges, type EmailChanges } from '../accounts/email-changes.js'
import { createGroupChanges, createLockDown, createOperatorChanges } from '../accounts/operator-changes.js'
import {
  createAccountClearing,
  createOperatorRecovery,
  createRestoredMail,
  createTakeBack,
  createUndoPreview,
} from '../accounts/take-back.js'
import { createApplications } from '../applications/applications.js'
import { createUsedApplications, type UsedApplications } from '../applications/used-applications.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { type ProviderId, providerLabel } from '../contract/providers.js'
import { createCeremonies, createPasskeyCeremonies } from '../factors/passkey-ceremonies.js'
import { createPasskeys } from '../factors/passkeys.js'
import { createCodeLimit, createProveCode } from '../factors/prove-code.js'
import { createRecoveryCodes } from '../factors/recovery-codes.js'
import { createFactors, createNextSteps, createProofs } from '../factors/second-factors.js'
import { createAppReplacements, createPendingSecrets, createTotpSecrets } from '../factors/totp.js'
import { createTrustedDevices } from '../factors/trusted-devices.js'
import { createGroups, type Groups } from '../groups/groups.js'
import { createLoadedKeys } from '../keys/loaded-keys.js'
import { sealedColumns } from '../keys/sealed-columns.js'
import { createSealedValues, type SealedValues } from '../keys/sealed-values.js'
import { createSigningKeys } from '../keys/signing-keys.js'
import type { Clock } from '../lib/clock.js'
import type { Design } from '../lib/design.js'
import { deriveKey } from '../lib/random.js'
import { createSeal, type Seal } from '../lib/seal.js'
import { createEvents, type Events } from '../messages/events.js'
import { letterheadOf } from '../messages/layout.js'
import { createMailedCodes, type MailedCodes } from '../messages/mailed-codes.js'
import { createMails, type Mails } from '../messages/mails.js'
import { createOneTimeTokens, type OneTimeTokens } from '../messages/one-time-tokens.js'
import { createWebhooks, type Receiver, type Webhooks } from '../messages/webhooks.js'
import { createLogoutNotices } from '../openid/logout/logout-notices.js'
import { createContent } from '../pages/content.js'
import type { LeakedList } from '../passwords/leaked-list.js'
import { createPasswords } from '../passwords/passwords.js'
import type { Workers } from '../passwords/workers.js'
import type { Cache } from '../platform/cache/cache.js'
import { createClockWatch } from '../platform/database/clock-watch.js'
import type { Database } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import type { Mailer } from '../platform/mail/mail.js'
import type { Metrics, RefreshOutcome } from '../platform/metrics/metrics.js'
import type { Outbound } from '../platform/outbound/outbound.js'
import { createAttempts, createPendingLinks } from '../providers/attempts.js'
import { createIdentities } from '../providers/identities.js'
import { createIdentityLinks, type IdentityLinks } from '../providers/identity-links.js'
import { createProviders, type ProviderSettings } from '../providers/providers.js'
import { createCompleteRegistration } from '../registration/complete-registration.js'
import { createInvitations, createRegistrationGate, type Invitations } from '../registration/invitations.js'
import { createRegistrations } from '../registration/registrations.js'
import { createSetup } from '../registration/setup.js'
import { type Administrators, createAdministrators } from '../sessions/administrators.js'
import { createEndedSessions, type EndedSessions } from '../sessions/ended-sessions.js'
import { createKnownDevices } from '../sessions/known-devices.js'
import { createEndStolen, createRotations } from '../sessions/rotation.js'
import { createSessionLookups, type SessionLookups } from '../sessions/session-lookups.js'
import { createSessions, type Sessions } from '../sessions/sessions.js'
import { createTokens, type Tokens } from '../sessions/tokens.js'
import type { Config } from '../settings/config.js'
import { createEnrolments } from '../sign-in/enrolments.js'
import { createCompleteMailRegistration, createMailSignIns } from '../sign-in/mail-sign-ins.js'
import { createNewSessions } from '../sign-in/new-sessions.js'
import { createLastAnswers, createLastSteps } from '../sign-in/open-questions.js'
import { createChallenges, createUnfinishedSignIns } from '../sign-in/pending-sign-ins.js'
import { createResetLinks } from '../sign-in/reset-links.js'
import { createByCode, createByEnrolment, createByPasskey } from '../sign-in/second-proofs.js'
import { createFirstSteps, createSignIns } from '../sign-in/sign-ins.js'
import { createNewUsers, type NewUsers } from '../users/new-users.js'
import { createProfileFields, type ProfileFields } from '../users/profile-fields.js'
import { createTerms, type Terms } from '../users/terms.js'
import { createNameMarks, createUsernames, type Usernames } from '../users/usernames.js'
import { createUserChanges, createUsers, type UserChanges, type Users } from '../users/users.js'
import type { OwnWords } from './operator-files.js'

type AccountChangesNounDependencies = Omit<
  Parameters<typeof createAccountChanges>[0],
  'changeHeldAccount' | 'changeLimit'
> &
  Omit<Parameters<typeof createChangeHeldAccount>[0], 'applyConsequences'> &
  Omit<Parameters<typeof createAccountConsequences>[0], 'voiding'> &
  Parameters<typeof createAccountVoiding>[0] & { cache: Cache; metrics: Metrics | undefined }

/** Every change of an account: how it is made, what follows from it, and how many a session may cause. */
const createAccountChangesNoun = (deps: AccountChangesNounDependencies) => {
  const { cache, metrics } = deps
  const applyConsequences = createAccountConsequences({ ...deps, voiding: createAccountVoiding(deps) })
  const changeHeldAccount = createChangeHeldAccount({ ...deps, applyConsequences })
  const changeLimit = createChangeLimit({ cache, onLimited: (limiter) => metrics?.countRejection(limiter) })
  return createAccountChanges({ ...deps, changeHeldAccount, changeLimit })
}

type FactorNounsDependencies = Parameters<typeof createPendingSecrets>[0] &
  Parameters<typeof createCodeLimit>[0] &
  Omit<Parameters<typeof createProveCode>[0], 'totpSecrets' | 'recoveryCodes' | 'codeLimit' | 'onProof'> & {
    metrics: Metrics | undefined
    undos: Undos
  }

/** Authenticator apps and recovery codes: their secrets, how a code is proven, and how many wrong ones are accepted. */
const createFactorNouns = (deps: FactorNounsDependencies) => {
  const { database, metrics, undos } = deps
  const pendingSecrets = createPendingSecrets(deps)
  const totpSecrets = createTotpSecrets({ ...deps, pendingSecrets })
  const recoveryCodes = createRecoveryCodes(deps)
  const codeLimit = createCodeLimit(deps)
  const onProof: Parameters<typeof createProveCode>[0]['onProof'] = (method, outcome) =>
    metrics?.countSecondFactor(method, outcome)
  const proveCode = createProveCode({ ...deps, totpSecrets, recoveryCodes, codeLimit, onProof })
  return {
    factors: createFactors({ database, totpSecrets, recoveryCodes, codeLimit, undos, proveCode }),
    appReplacements: createAppReplacements({ ...deps, pendingSecrets, codeLimit }),
  }
}

type Steps = Parameters<typeof createFirstSteps>[0] &
  Parameters<typeof createByCode>[0] &
  Parameters<typeof createByPasskey>[0] &
  Parameters<typeof createByEnrolment>[0]
type SignInStepsDependencies = Omit<
  Steps & Parameters<typeof createLastAnswers>[0],
  'nextSteps' | 'newSessions' | 'lastSteps'
> &
  Pick<Parameters<typeof createSignIns>[0], 'events' | 'challenges'> &
  Parameters<typeof createNextSteps>[0] &
  Omit<Parameters<typeof createNewSessions>[0], 'lastSteps'> &
  Omit<Parameters<typeof createLastSteps>[0], 'nextSteps'>

/** The ways to sign in, with the steps that they share: the first, the second and the last. */
const createSignInSteps = (deps: SignInStepsDependencies) => {
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

type SignInNounsDependencies = {
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
const createSignInNouns = (config: Config, deps: SignInNounsDependencies) => {
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

type RegistrationNounsDependencies = {
  database: Database
  clock: Clock
  users: Users
  newUsers: NewUsers
  userChanges: UserChanges
  mails: Mails
  undos: Undos
  groups: Groups
  administrators: Administrators
  mailedCodes: MailedCodes
  profileFields: ProfileFields
  events: Events
  terms: Terms
}

/** The nouns that decide who gets an account. */
const createRegistrationNouns = (config: Config, deps: RegistrationNounsDependencies) => {
  const registrationGate = createRegistrationGate({ mode: config.registration, domains: config.registrationDomains })
  const invitations = createInvitations({
    ...deps,
    gate: registrationGate,
    allowedOrigins: config.allowedOrigins,
  })
  const registrations = createRegistrations({ ...deps, invitations })
  const completeRegistration = createCompleteRegistration({ ...deps, invitations, usernameSource: config.usernames })
  const mailSignIns = createMailSignIns({ ...deps, invitations })
  const completeMailRegistration = createCompleteMailRegistration({ ...deps, invitations, mailSignIns })
  const setup = createSetup({ ...deps, publicUrl: config.publicUrl, adminGroup: config.adminGroup })
  return {
    setup,
    registrationGate,
    invitations,
    registrations,
    completeRegistration,
    mailSignIns,
    completeMailRegistration,
  }
}

/** The parts that nouns are made of. The service opens all of them (`open-platform`), and commands open fewer (`commands/open-for-commands`). */
export type NounPlatform = {
  clock: Clock
  log: Log
  database: Database
  /** The same database. It takes statements at any time; `database` refuses them until the migrations are applied. */
  ungatedDatabase: Database
  cache: Cache
  secrets: readonly string[]
  sealingSecrets: readonly string[]
  workers: Workers
  leakedPasswords: Pick<LeakedList, 'has'> | undefined
  mailer: Mailer
  outbound: Outbound
  providerSettings: ProviderSettings
  webhookReceiver: Receiver | undefined
  design: Design
  ownWords: OwnWords
  fieldDefinitions: readonly ProfileFieldDefinition[]
  metrics: Metrics | undefined
  /** True for commands. Their own log is not collected, so a running service logs their events. */
  leavesEventsToService: boolean
}

/** Each purpose has keys of its own, one for each secret. */
const createKeys = (secrets: NounPlatform['secrets']) => {
  const keysFor = (purpose: string) => secrets.map((secret) => deriveKey(secret, purpose))
  return { keysFor, sealFor: (purpose: string) => createSeal(keysFor(purpose)) }
}

type Keys = ReturnType<typeof createKeys>

/**
 * The nouns that sign and check tokens. A start loads their keys before the service is ready, so they use `ungatedDatabase`, which does
 * not wait for the migrations.
 */
const createTokenNouns = (config: Config, platform: NounPlatform) => {
  const { secrets, sealingSecrets, ungatedDatabase: database, clock, log } = platform
  const endedSessions = createEndedSessions({ database, clock, log })
  const sealedValues = createSealedValues(sealingSecrets, sealedColumns)
  const signingKeys = createSigningKeys({ database, clock, sealedValues })
  const signsWithKeyPair = config.accessTokenAlgorithm === 'ES256'
  const loadedKeys = createLoadedKeys({ signingKeys, clock, log, signsWithKeyPair })
  const tokens = createTokens({
    secrets,
    clock,
    issuer: config.publicUrl,
    keyPairs: loadedKeys,
    hasEnded: endedSessions.refusesToken,
  })
  return { endedSessions, sealedValues, signingKeys, loadedKeys, tokens }
}

type TokenNouns = ReturnType<typeof createTokenNouns>

/** The nouns behind the forms that operators configure: profile fields and terms. */
const createFormNouns = (config: Config, { database, clock, fieldDefinitions }: NounPlatform) => ({
  profileFields: createProfileFields({ database, clock, definitions: fieldDefinitions }),
  terms: createTerms({ database, clock, version: config.termsVersion }),
})

/** Users, and what tells them and their applications of changes. */
const createUserNouns = (
  config: Config,
  platform: NounPlatform,
  { keysFor, sealFor }: Keys,
  { tokens }: Pick<TokenNouns, 'tokens'>,
) => {
  const { database, clock, log, metrics, mailer, webhookReceiver: receiver } = platform
  const usernames = createUsernames({ database, clock, reserved: config.reservedUsernames })
  const users = createUsers({ database, clock })
  const newUsers = createNewUsers({ database, clock, usernames })
  const userChanges = createUserChanges({ database, clock })
  const identityLinks = createIdentityLinks({ database, clock })
  const formNouns = createFormNouns(config, platform)
  const webhooks = createWebhooks({
    database,
    clock,
    receiver,
    knownFields: formNouns.profileFields.knownValues,
    onOutcome: metrics?.countAttempt.webhook,
    log,
  })
  // Names that users type are stored and counted as keyed hashes.
  const nameMarks = createNameMarks(keysFor('typed names'))
  const administrators = createAdministrators({ ...config, database, clock })
  const events = createEvents({
    database,
    clock,
    nameMarks,
    // Listeners are called after the commit, so a webhook that was written in the same transaction can be sent now.
    listeners: [(recorded) => log.info(recorded, 'event'), (_, event) => metrics?.countEvent(event), webhooks.wake],
    leavesEventsToService: platform.leavesEventsToService,
    administrators,
    onLost: (err) => log.error({ err }, 'an event could not be written to the database'),
  })
  const mails = createMails({
    database,
    clock,
    log,
    events,
    mailer,
    mailIsOff: config.mailIsOff,
    seal: sealFor('outgoing mail'),
    letterhead: letterheadOf(config, platform),
    onOutcome: metrics?.countAttempt.mail,
  })
  const groups = createGroups({ database, clock, events, administrators, tokens })
  return {
    ...formNouns,
    usernames,
    users,
    groups,
    administrators,
    newUsers,
    userChanges,
    identityLinks,
    nameMarks,
    webhooks,
    events,
    mails,
  }
}

/** Sessions, the applications used in them, mailed links and codes, and one-time tokens. */
const createSessionNouns = (
  config: Config,
  { database, clock }: NounPlatform,
  { keysFor }: Keys,
  nouns: TokenNouns & ReturnType<typeof createUserNouns>,
) => {
  const { endedSessions, mails, users, userChanges } = nouns
  const sessions = createSessions({ ...config, ...nouns, database, clock, onEnded: endedSessions.add })
  const sessionLookups = createSessionLookups({ database, clock, lifetimes: config.lifetimes })
  const mailedCodes = createMailedCodes({ database, clock, mails, codeKeys: keysFor('mailed code') })
  const oneTimeTokens = createOneTimeTokens({ database, clock })
  const undos = createUndos({ database, clock })
  const emailChanges = createEmailChanges({ database, clock, users, userChanges, mails, mailedCodes, undos })
  const usedApplications = createUsedApplications({ ...config, ...nouns, database, clock, sessionLookups })
  return { sessions, sessionLookups, usedApplications, mailedCodes, oneTimeTokens, undos, emailChanges }
}

/** Creates all nouns: things with rules, most of them with a table. The service and every command call this. */
export const createNouns = (config: Config, platform: NounPlatform) => {
  const { database, clock, log, outbound, workers, leakedPasswords: leaked } = platform
  const keys = createKeys(platform.secrets)
  const tokenNouns = createTokenNouns(config, platform)
  const nounsUpToUsers = { ...tokenNouns, ...createUserNouns(config, platform, keys, tokenNouns) }
  const nounsUpToSessions = { ...nounsUpToUsers, ...createSessionNouns(config, platform, keys, nounsUpToUsers) }
  const { keysFor, sealFor } = keys
  const registrationNouns = createRegistrationNouns(config, { ...platform, ...nounsUpToSessions })
  const providers = createProviders(platform.providerSettings, { outbound, clock })
  const guessableWords = [config.productName, ...config.passwordWords]
  return {
    ...nounsUpToSessions,
    ...registrationNouns,
    ...createSignInNouns(config, { ...platform, ...nounsUpToSessions, ...registrationNouns, ...keys, providers }),
    keysFor,
    providers,
    passwords: createPasswords({ workers, cost: config.bcryptCost, words: guessableWords, leaked }),
    logoutNotices: createLogoutNotices({ database, clock }),
    content: createContent({ database, clock }),
    applications: createApplications({ database }),
    clockWatch: createClockWatch({ database, clock, log }),
    attempts: createAttempts({ seal: sealFor('provider attempt'), clock }),
    pendingLinks: createPendingLinks({ seal: sealFor('pending link'), clock }),
  }
}

export type Nouns = ReturnType<typeof createNouns>
