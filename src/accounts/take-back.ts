import type { ChangedFactor } from '../account-changes/account-change-table.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { type FormerSecret, linkKindOf, type Undo, undoLifetime } from '../account-changes/undos.js'
import type { Language } from '../contract/languages.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UndoLinkKind } from '../contract/pages.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Client } from '../http/request-origin.js'
import { randomToken } from '../lib/random.js'
import { resetLifetime } from '../messages/one-time-tokens.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Transaction } from '../platform/database/database.js'
import type { ConfiguredProviders } from '../providers/open-providers.js'
import { type Email, readEmail, usernameKey } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { Identity, User } from '../users/users.js'
import type { EmailChanges } from './email-changes.js'

/** `FormerSecret`: the app with this secret works again, and the app that replaced it does not. */
export type TotpClearing = 'stays' | 'removed' | FormerSecret

/** The parts that an account loses when it is taken back, and the username and the language that it gets. */
export type Clearing = {
  username: string
  language: Language | undefined
  totp: TotpClearing
  /** The ids of passkeys to remove. */
  passkeys: readonly string[]
  identities: readonly Identity[]
  /** The hash of the new password. Without it, no password works any more. */
  passwordHash?: string | undefined
}

type ClearedKind = 'totp' | 'recovery_codes' | 'passkey' | 'provider' | 'username' | 'language'

/** What happens to the authenticator app if these changes are taken back. The oldest change of the app decides. */
export const totpBefore = (openUndos: readonly Undo[]): TotpClearing => {
  for (const undo of openUndos) {
    if (undo.kind === 'totp') return 'removed'
    if (undo.kind === 'totp_replaced') return undo.former ?? 'removed'
  }
  return 'stays'
}

/**
 * The clearing that takes back every change of the last seven days that can still be undone. `openUndos` begins with the oldest, so that
 * the oldest username and language come back.
 */
export const clearingOf = (user: User, openUndos: readonly Undo[]): Clearing => ({
  username: openUndos.find((undo) => undo.kind === 'username')?.former ?? user.username,
  language: openUndos.find((undo) => undo.kind === 'language')?.former ?? user.language,
  totp: totpBefore(openUndos),
  passkeys: openUndos.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : [])),
  identities: openUndos.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})

type Services = UsersRoom &
  MessagesRoom &
  AccountChangesRoom &
  FactorsRoom &
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
    const openUndos = await undos.openOf(sql, user.id)
    const undo = await undos.take(sql, token)
    if (!undo) return refuse('invalid_link')
    const { email } = undo
    const restoresEmail = user.email !== email
    const owner = restoresEmail ? await restoreEmail(services, sql, user, email) : user
    await undos.forgetFrom(sql, user.id, email, undo.since)
    const cleared = await clear(services, sql, owner, { ...clearingOf(user, openUndos), passwordHash })
    const hasPassword = passwordHash !== undefined
    // The reason of the event names what was taken back.
    const reason = [...(restoresEmail ? ['email'] : []), ...cleared.takenBack].join(' ')
    const restoredDetails = {
      mail: await restoredMail(services, sql, cleared.user, { byOperator: false, hasPassword }),
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
  await mails.withdrawExceptTo(sql, user.id, email.email)
  return { ...user, email: email.email }
}

const clearCodes = async ({ factors }: Services, sql: Transaction, userId: string, totp: TotpClearing) => {
  if (totp === 'removed' && (await factors.remove(sql, userId))) return ['totp'] as const
  const isRestored = typeof totp === 'object' && (await factors.restoreFormerApp(sql, userId, totp))
  // New recovery codes are removed even if the app stays: a thief may have asked for them.
  const hadNewCodes = await factors.removeNewRecoveryCodes(sql, userId, undoLifetime)
  return [...(isRestored ? (['totp'] as const) : []), ...(hadNewCodes ? (['recovery_codes'] as const) : [])]
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
  const { userChanges, passkeys, identityLinks } = services
  const username = await restoreUsername(services, sql, user, clearing.username)
  const { language, identities, passwordHash } = clearing
  const changesLanguage = language !== undefined && language !== user.language
  if (changesLanguage) await userChanges.setField(sql, user.id, 'language', language)
  const clearedCodes = await clearCodes(services, sql, user.id, clearing.totp)
  const hadPasskeys = (await passkeys.removeSome(sql, user.id, clearing.passkeys)) > 0
  if (identities.length > 0) await identityLinks.unlinkAndRemember(sql, user.id, identities)
  await userChanges.takeBack(sql, user.id, passwordHash)
  const changesPassword = user.passwordHash !== undefined || passwordHash !== undefined
  const clearedPasskeys = hadPasskeys ? (['passkey'] as const) : []
  const takenBack: ClearedKind[] = [
    ...clearedCodes,
    ...clearedPasskeys,
    ...(identities.length > 0 ? (['provider'] as const) : []),
    ...(username === user.username ? [] : (['username'] as const)),
    ...(changesLanguage ? (['language'] as const) : []),
  ]
  const changedFactors: ChangedFactor[] = [
    ...clearedCodes,
    ...clearedPasskeys,
    ...(changesPassword ? (['password'] as const) : []),
  ]
  return { user: { ...user, username, language }, takenBack, factors: changedFactors }
}

/** Prepares the mail to an owner who has got an account back. It has a link to choose a password if the account has none. */
const restoredMail = async (
  { oneTimeTokens }: Services,
  sql: Transaction,
  { id, email, username }: User,
  { byOperator, hasPassword }: { byOperator: boolean; hasPassword: boolean },
) => {
  const mail = { to: [email], username, byOperator }
  if (hasPassword) {
    await oneTimeTokens.forgetRestoreLinks(sql, id)
    return mail
  }
  const token = randomToken()
  await oneTimeTokens.replaceRestoreLink(sql, id, token)
  return { ...mail, token, validFor: resetLifetime }
}

/** Describes what an undo link would do now. Changes nothing. */
export const undoPreview = async ({ users, identityLinks, factors, passkeys, undos }: Services, token: string) => {
  const undo = await undos.find(token)
  const user = undo && (await users.findById(undo.userId))
  if (!user) return refuse('invalid_link')
  const { username, language, ...clearing } = clearingOf(user, await undos.openOf(user.id))
  const hasApp = (await factors.heldBy(user.id)).includes('totp')
  const removesApp = hasApp && clearing.totp === 'removed'
  const restoresApp = hasApp && typeof clearing.totp === 'object'
  const accountPasskeys = await passkeys.list(user.id)
  const passkeyNames = (areRecent: boolean) =>
    accountPasskeys.filter(({ id }) => clearing.passkeys.includes(id) === areRecent).map(({ name }) => name)
  const identities = await identityLinks.identitiesOf(user.id)
  const isRecent = ({ provider, subject }: Identity) =>
    clearing.identities.some((identity) => identity.provider === provider && identity.subject === subject)
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
    /** The parts that stay. A thief may have added them more than seven days ago. */
    keeps: {
      totp: hasApp && !removesApp,
      passkeys: passkeyNames(false),
      providers: identities.filter((identity) => !isRecent(identity)).map(({ provider }) => provider),
    },
  }
}

export type Recovery = { userId: string; email: Email; operator: Client }

/**
 * Gives an account to the owner of an address, for an operator who knows that the account belongs to that owner. Everything that signs in
 * or undoes a change is removed, even if it was added more than seven days ago. Refused if another user has the address.
 */
export const recoverAccount = (services: Services, { userId, email, operator }: Recovery) => {
  const { accountChanges, identityLinks, passkeys, undos, emailChanges } = services
  const recovery = accountChanges.byOperator({ userId, client: operator }, 'account_recovered', async (sql, user) => {
    const recentClearing = clearingOf(user, await undos.openOf(sql, userId))
    await undos.forgetAll(sql, userId)
    // The operator vouches for the address, also for one that was only typed before.
    if (user.email !== email.email || user.emailClaimed)
      await emailChanges.apply(sql, user, email, { isProven: false, isFinal: true })
    if (user.email !== email.email) await undos.reserveEmail(sql, user)
    const removedPasskeys = await passkeys.list(sql, userId)
    const identities = await identityLinks.identitiesOf(sql, userId)
    const cleared = await clear(
      services,
      sql,
      { ...user, email: email.email },
      {
        username: recentClearing.username,
        language: recentClearing.language,
        totp: 'removed',
        passkeys: removedPasskeys.map(({ id }) => id),
        identities: [...identities, ...recentClearing.identities],
      },
    )
    const mail = await restoredMail(services, sql, cleared.user, { byOperator: true, hasPassword: false })
    const result = {
      previousEmail: user.email,
      totp: cleared.takenBack.includes('totp'),
      passkeys: removedPasskeys.length,
      providers: identities.map(({ provider }) => provider),
    }
    return { result, changes: { account_recovered: { mail, factors: cleared.factors } } }
  })
  return emailChanges.unlessTaken(recovery)
}
