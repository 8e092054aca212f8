import { isRefused, refuse } from '../../contract/outcome.js'
import type { UndoOf } from '../../contract/undo-tokens.js'
import { randomToken } from '../../lib/random.js'
import type { Transaction } from '../../platform/database/database.js'
import type { EmailChanges } from '../email-changes/email-changes.js'
import type { Factors } from '../factors/factors.js'
import { type OneTimeTokens, resetLifetime } from '../one-time-tokens/one-time-tokens.js'
import type { PasskeyRecords } from '../passkeys/passkey-records.js'
import type { Client } from '../sessions/client.js'
import { type Undo, type Undos, undoLifetime, undoOf } from '../undos/undos.js'
import { type Email, readEmail } from '../users/email.js'
import type { Identity, User, Users } from '../users/users.js'
import type { AccountChanges } from './account-changes.js'
import type { AccountClearing, Clearing } from './account-clearing.js'

type Dependencies = {
  accountChanges: Pick<AccountChanges, 'byLink' | 'byOperator'>
  users: Pick<Users, 'findById' | 'setEmail' | 'identitiesOf'>
  factors: Pick<Factors, 'hasTotp' | 'hasNewRecoveryCodes'>
  passkeys: Pick<PasskeyRecords, 'list'>
  undos: Pick<Undos, 'find' | 'add' | 'openOf' | 'take' | 'forgetFrom' | 'forgetAll'>
  emailChanges: Pick<EmailChanges, 'unlessTaken' | 'apply'>
  oneTimeTokens: Pick<OneTimeTokens, 'replaceRestoreLink' | 'forgetRestoreLinks'>
  clear: AccountClearing
}

/** What was changed in the last seven days and can still be taken back, whatever the order. The oldest names come back. */
const clearingOf = (user: User, open: readonly Undo[]): Clearing => ({
  username: open.flatMap((undo) => (undo.kind === 'username' ? [undo.former] : []))[0] ?? user.username,
  language: open.flatMap((undo) => (undo.kind === 'language' ? [undo.former] : []))[0] ?? user.language,
  totp: open.some(({ kind }) => kind === 'totp'),
  passkeys: open.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : [])),
  identities: open.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})

type Taken = { token: string; of: UndoOf; passwordHash: string | undefined }
type Recovered = { userId: string; email: Email; operator: Client }

export type AccountRecovery = ReturnType<typeof createAccountRecovery>

/** Gives an account back to its owner: by the link of a mail about a change, or by an operator. */
export const createAccountRecovery = (deps: Dependencies) => {
  const { accountChanges, users, factors, passkeys, undos, emailChanges, oneTimeTokens, clear } = deps

  /** The address is reserved for this user as long as there is an undo of it, so no other user has it. */
  const putBack = async (sql: Transaction, user: User, given: string) => {
    const email = readEmail(given)
    if (isRefused(email) || !(await users.setEmail(sql, user.id, email)))
      throw new Error('The address of an undo cannot be put back')
    return { ...user, email: email.email }
  }

  type Told = { byOperator: boolean; hasPassword: boolean }
  /** To the address that the account has from now on, and with a link to choose a password if it has none. */
  const restoredMail = async (sql: Transaction, { id, email, username }: User, told: Told) => {
    const { byOperator } = told
    const mail = { to: [email], username, byOperator }
    if (told.hasPassword) {
      await oneTimeTokens.forgetRestoreLinks(sql, id)
      return mail
    }
    const token = randomToken()
    await oneTimeTokens.replaceRestoreLink(sql, id, token)
    return { ...mail, token, validFor: resetLifetime }
  }

  /**
   * Uses the link up in one transaction with all that follows from it. It holds the user's row: what happens at once is either
   * before it, and taken back with it, or after it, and finds neither its session nor its proof.
   */
  const takeBack = async ({ token, of, passwordHash }: Taken, client: Client) => {
    const found = await undos.find(token)
    if (!found || undoOf(found) !== of) return refuse('invalid_link')
    const context = { userId: found.userId, client, whileDisabled: 'allowed' } as const
    const kind = of === 'email' ? 'email_change_undone' : 'factor_undone'
    const taken = await accountChanges.byLink(context, [kind, 'email_withdrawn'], async (sql, user) => {
      const open = await undos.openOf(sql, user.id)
      const undo = await undos.take(sql, token)
      if (!undo) return refuse('invalid_link')
      const { email } = undo
      const isMoved = user.email !== email
      const moved = isMoved ? await putBack(sql, user, email) : user
      await undos.forgetFrom(sql, user.id, email, undo.since)
      const cleared = await clear(sql, moved, { ...clearingOf(user, open), passwordHash })
      const hasPassword = passwordHash !== undefined
      const reason = [...(isMoved ? ['email'] : []), ...cleared.removed].join(' ')
      const restored = {
        mail: await restoredMail(sql, cleared.user, { byOperator: false, hasPassword }),
        factors: cleared.factors,
        event: reason ? { reason } : {},
      }
      const withdrawn = isMoved && { email_withdrawn: { mail: { username: cleared.user.username } } }
      return { changes: { [kind]: restored, ...withdrawn } }
    })
    return isRefused(taken) ? refuse('invalid_link') : taken.user
  }

  /**
   * For an operator who knows that the account is to belong to this address. Whatever signs in or undoes a change is gone, also
   * what is older than seven days. Refused if another user has the address.
   */
  const recover = ({ userId, email, operator }: Recovered) => {
    const recovering = accountChanges.byOperator(
      { userId, client: operator },
      'account_recovered',
      async (sql, user) => {
        const recent = clearingOf(user, await undos.openOf(sql, userId))
        await undos.forgetAll(sql, userId)
        if (user.email !== email.email) {
          await emailChanges.apply(sql, user, email, { isFinal: true })
          // Without a mail: only so that no other user has the address in the next days.
          await undos.add(sql, user, { kind: 'email' })
        }
        const removedPasskeys = await passkeys.list(sql, userId)
        const identities = await users.identitiesOf(sql, userId)
        const cleared = await clear(
          sql,
          { ...user, email: email.email },
          {
            username: recent.username,
            language: recent.language,
            totp: true,
            passkeys: removedPasskeys.map(({ id }) => id),
            identities: [...identities, ...recent.identities],
          },
        )
        const mail = await restoredMail(sql, cleared.user, { byOperator: true, hasPassword: false })
        const result = {
          previousEmail: user.email,
          totp: cleared.removed.includes('totp'),
          passkeys: removedPasskeys.length,
          providers: identities.map(({ provider }) => provider),
        }
        return { result, changes: { account_recovered: { mail, factors: cleared.factors } } }
      },
    )
    return emailChanges.unlessTaken(recovering)
  }

  /** What the link would do now. Changes nothing. */
  const look = async (token: string) => {
    const undo = await undos.find(token)
    const user = undo && (await users.findById(undo.userId))
    if (!user) return refuse('invalid_link')
    const { username, language, ...recent } = clearingOf(user, await undos.openOf(user.id))
    const totp = recent.totp && (await factors.hasTotp(user.id))
    const shownPasskeys = (await passkeys.list(user.id)).filter(({ id }) => recent.passkeys.includes(id))
    const isRecent = ({ provider, subject }: Identity) =>
      recent.identities.some((identity) => identity.provider === provider && identity.subject === subject)
    return {
      undo,
      user,
      /** What the account has afterwards. */
      email: undo.email,
      username,
      language,
      totp,
      recoveryCodes: !totp && (await factors.hasNewRecoveryCodes(user.id, undoLifetime)),
      passkeys: shownPasskeys.map(({ name }) => name),
      providers: (await users.identitiesOf(user.id)).filter(isRecent).map(({ provider }) => provider),
    }
  }

  return { look, takeBack, recover }
}
