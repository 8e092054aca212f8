import type { ChangedFactor } from '../account-changes/account-change-table.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { linkKindOf, type Undo, undoLifetime } from '../account-changes/undos.js'
import type { Language } from '../contract/languages.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UndoLinkKind } from '../contract/pages.js'
import type { ChangedSecondFactor } from '../contract/second-factors.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import { changedFactors } from '../factors/second-factors.js'
import { totpBefore } from '../factors/totp.js'
import { canSignIn } from '../factors/ways-to-sign-in.js'
import type { Client } from '../http/request-origin.js'
import { randomToken } from '../lib/random.js'
import { resetLifetime } from '../messages/one-time-tokens.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { PersonalTokensRoom } from '../personal-tokens/open-personal-tokens.js'
import type { Transaction } from '../platform/database/database.js'
import type { ConfiguredProviders } from '../providers/open-providers.js'
import { type Email, readEmail, usernameKey } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { Identity, User } from '../users/users.js'
import type { EmailChanges } from './email-changes.js'

/** The parts that an account loses when it is taken back, and the username and the language that it gets. */
type Clearing = {
  username: string
  language: Language | undefined
  /** The changes of second factors that are taken back, the oldest first. `all`: every factor is removed. */
  factors: readonly Undo[] | 'all'
  identities: readonly Identity[]
  /** The hash of the new password. Without it, no password works any more. */
  passwordHash?: string | undefined
}

type ClearedKind = ChangedSecondFactor | 'provider' | 'username' | 'language'

/**
 * The clearing that takes back every change of the last seven days that can still be undone. `openUndos` begins with the oldest, so that
 * the oldest username and language come back.
 */
export const clearingOf = (user: User, openUndos: readonly Undo[]): Clearing & { factors: readonly Undo[] } => ({
  username: openUndos.find((undo) => undo.kind === 'username')?.former ?? user.username,
  language: openUndos.find((undo) => undo.kind === 'language')?.former ?? user.language,
  factors: openUndos,
  identities: openUndos.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})

type Services = UsersRoom &
  MessagesRoom &
  AccountChangesRoom &
  FactorsRoom &
  PersonalTokensRoom &
  ConfiguredProviders & { emailChanges: EmailChanges }

export type UsedLink = { token: string; linkKind: UndoLinkKind; passwordHash: string | undefined }

/**
 * Uses up an undo link and takes the changes back, in one transaction that locks the user's row. A thief's change at the same time either
 * comes first and is taken back too, or comes later and fails, because its session and its proof are gone.
 */
export const takeBackAccount = async (
  services: Services,
  { token, linkKind, passwordHash }: UsedLink,
  client: Client,
) => {
  const { accountChanges, undos } = services
  const openUndo = await undos.find(token)
  if (!openUndo || linkKindOf(openUndo) !== linkKind) return refuse('invalid_link')
  const context = { userId: openUndo.userId, client, whileDisabled: 'allowed' } as const
  const changeKind = linkKind === 'email' ? 'email_change_undone' : 'factor_undone'
  const outcome = await accountChanges.byLink(context, [changeKind, 'email_withdrawn'], async (sql, user) => {
    const [openUndos, undo] = await Promise.all([undos.openOf(sql, user.id), undos.take(sql, token)])
    if (!undo) return refuse('invalid_link')
    const { email } = undo
    const restoresEmail = user.email !== email
    const owner = restoresEmail ? await restoreEmail(services, sql, user, email) : user
    sql.unawaited(undos.forgetFrom(sql, user.id, email, undo.since))
    const cleared = await clear(services, sql, owner, { ...clearingOf(user, openUndos), passwordHash })
    const hasPassword = passwordHash !== undefined
    // The reason of the event names what was taken back.
    const reason = [...(restoresEmail ? ['email'] : []), ...cleared.takenBack].join(' ')
    const restoredDetails = {
      mail: restoredMail(services, sql, cleared.user, { byOperator: false, hasPassword }),
      factors: cleared.factors,
      event: reason ? { reason } : {},
    }
    const withdrawnChange = restoresEmail && { email_withdrawn: { mail: { username: cleared.user.username } } }
    return { changes: { [changeKind]: restoredDetails, ...withdrawnChange } }
  })
  return isRefused(outcome) ? refuse('invalid_link') : outcome.user
}

/**
 * No other user has the address, because it is reserved while an undo link can restore it. The link was mailed to the address, so the
 * address counts as proven.
 */
const restoreEmail = async ({ userChanges, mails }: Services, sql: Transaction, user: User, formerEmail: string) => {
  const email = readEmail(formerEmail)
  if (isRefused(email) || !(await userChanges.setEmail(sql, user.id, email, { isProven: true })))
    throw new Error('The address of an undo cannot be put back')
  // Nothing goes to the later address any more but the notice, which is queued after this.
  sql.unawaited(mails.withdrawExceptTo(sql, user.id, email.email))
  return { ...user, email: email.email }
}

/**
 * Gives the former username back, and returns the username that the account has afterwards. Another user can have the former name only if
 * its reservation has expired.
 */
const restoreUsername = async ({ usernames }: Services, sql: Transaction, user: User, username: string) => {
  const former = { username, key: usernameKey(username) }
  if (username === user.username || (await usernames.isTaken(sql, former.key, user.id))) return user.username
  await usernames.takeBack(sql, user, former)
  return username
}

/**
 * Removes from an account the parts that `Clearing` names, and every password but the new one. The table of account changes ends and voids
 * the rest, such as sessions and links. The caller holds the user's row. In the result, `takenBack` lists what was removed or put back, and
 * `factors` the factors that have changed, for webhooks.
 */
const clear = async (services: Services, sql: Transaction, user: User, clearing: Clearing) => {
  const { userChanges, factors, identityLinks } = services
  const username = await restoreUsername(services, sql, user, clearing.username)
  const { language, identities, passwordHash } = clearing
  const changesLanguage = language !== undefined && language !== user.language
  if (changesLanguage) sql.unawaited(userChanges.setField(sql, user.id, 'language', language))
  const cleared =
    clearing.factors === 'all'
      ? await factors.remove(sql, user.id)
      : await factors.takeBack(sql, user.id, clearing.factors)
  if (identities.length > 0) await identityLinks.unlinkAndRemember(sql, user.id, identities)
  sql.unawaited(userChanges.takeBack(sql, user.id, passwordHash))
  const changesPassword = user.passwordHash !== undefined || passwordHash !== undefined
  const takenBack: ClearedKind[] = [
    ...changedFactors(cleared),
    ...(identities.length > 0 ? (['provider'] as const) : []),
    ...(username === user.username ? [] : (['username'] as const)),
    ...(changesLanguage ? (['language'] as const) : []),
  ]
  const changed: ChangedFactor[] = [...changedFactors(cleared), ...(changesPassword ? (['password'] as const) : [])]
  return { user: { ...user, username, language }, takenBack, factors: changed, cleared }
}

/** Prepares the mail to an owner who has got an account back. It has a link to choose a password if the account has none. */
const restoredMail = (
  { oneTimeTokens }: Services,
  sql: Transaction,
  { id, email, username }: User,
  { byOperator, hasPassword }: { byOperator: boolean; hasPassword: boolean },
) => {
  const mail = { to: [email], username, byOperator }
  if (hasPassword) {
    sql.unawaited(oneTimeTokens.forgetRestoreLinks(sql, id))
    return mail
  }
  const token = randomToken()
  sql.unawaited(oneTimeTokens.replaceRestoreLink(sql, id, token))
  return { ...mail, token, validFor: resetLifetime }
}

/** Describes what an undo link would do now. Changes nothing. */
export const undoPreview = async (services: Services, token: string) => {
  const { users, identityLinks, factors, passkeys, undos, personalTokens } = services
  const undo = await undos.find(token)
  const user = undo && (await users.findById(undo.userId))
  if (!user) return refuse('invalid_link')
  const {
    username,
    language,
    factors: openUndos,
    identities: addedIdentities,
  } = clearingOf(user, await undos.openOf(user.id))
  const hasApp = (await factors.heldBy(user.id)).includes('totp')
  const appBefore = totpBefore(openUndos)
  const removesApp = hasApp && appBefore === 'removed'
  const restoresApp = hasApp && typeof appBefore === 'object'
  const addedPasskeys = openUndos.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : []))
  const accountPasskeys = await passkeys.list(user.id)
  const passkeyNames = (areRecent: boolean) =>
    accountPasskeys.filter(({ id }) => addedPasskeys.includes(id) === areRecent).map(({ name }) => name)
  const identities = await identityLinks.identitiesOf(user.id)
  const isRecent = ({ provider, subject }: Identity) =>
    addedIdentities.some((identity) => identity.provider === provider && identity.subject === subject)
  return {
    undo,
    user,
    /** The email, username and language that the account would have. */
    email: undo.email,
    username,
    language,
    /** Whether the former app would work again, and which parts would be removed. */
    formerTotp: restoresApp,
    totp: removesApp,
    recoveryCodes: !removesApp && (await factors.hasNewRecoveryCodes(user.id, undoLifetime)),
    passkeys: passkeyNames(true),
    providers: identities.filter(isRecent).map(({ provider }) => provider),
    /** All of them end, whatever is taken back. */
    tokens: (await personalTokens.list(user.id)).map(({ name }) => name),
    /** The parts that stay. A thief may have added them more than seven days ago. */
    keeps: {
      totp: hasApp && !removesApp,
      passkeys: passkeyNames(false),
      providers: identities.filter((identity) => !isRecent(identity)).map(({ provider }) => provider),
    },
  }
}

/** What signs in is asked of the table of ways, and what proves a second step of that of factors: a recovery must not forget a thief's. */
const assertNothingSignsIn = async ({ users, passkeys, factors }: Services, sql: Transaction, userId: string) => {
  const user = await users.findById(sql, userId)
  const left = {
    hasPassword: user?.passwordHash !== undefined,
    hasProvider: (user?.providers.length ?? 0) > 0,
    hasPasskey: (await passkeys.list(sql, userId)).length > 0,
  }
  if (canSignIn(left) || (await factors.hasAny(sql, userId)))
    throw new Error('A recovery left something that signs in to the account')
}

export type Recovery = { userId: string; email: Email; operator: Client }

/**
 * Gives an account to the owner of an address, for an operator who knows that the account belongs to that owner. Everything that signs in
 * or undoes a change is removed, even if it was added more than seven days ago. Refused if another user has the address.
 */
export const recoverAccount = (services: Services, { userId, email, operator }: Recovery) => {
  const { accountChanges, identityLinks, undos, emailChanges } = services
  const recovery = accountChanges.byOperator({ userId, client: operator }, 'account_recovered', async (sql, user) => {
    const recentClearing = clearingOf(user, await undos.openOf(sql, userId))
    sql.unawaited(undos.forgetAll(sql, userId))
    // The operator vouches for the address, also for one that was only typed before.
    if (user.email !== email.email || user.emailClaimed)
      await emailChanges.apply(sql, user, email, { isProven: false, isFinal: true })
    if (user.email !== email.email) undos.reserveEmail(sql, user)
    const identities = await identityLinks.identitiesOf(sql, userId)
    const cleared = await clear(
      services,
      sql,
      { ...user, email: email.email },
      {
        username: recentClearing.username,
        language: recentClearing.language,
        factors: 'all',
        identities: [...identities, ...recentClearing.identities],
      },
    )
    await assertNothingSignsIn(services, sql, userId)
    const mail = restoredMail(services, sql, cleared.user, { byOperator: true, hasPassword: false })
    const result = {
      previousEmail: user.email,
      totp: cleared.cleared.totp > 0,
      passkeys: cleared.cleared.passkey,
      providers: identities.map(({ provider }) => provider),
    }
    return { result, changes: { account_recovered: { mail, factors: cleared.factors } } }
  })
  return emailChanges.unlessTaken(recovery)
}
