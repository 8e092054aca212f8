import type { OperatorContext } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { SecondFactorMethod } from '../contract/second-factors.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import { changedFactors } from '../factors/second-factors.js'
import type { GroupChange, Groups } from '../groups/groups.js'
import type { Client } from '../http/request-origin.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { ConfiguredProviders, ProvidersRoom } from '../providers/open-providers.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { SignInRoom } from '../sign-in/open-sign-in.js'
import type { Email } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import { isOwnerInDoubt, type User } from '../users/users.js'
import { deleteAccount } from './deletion.js'
import type { EmailChanges } from './email-changes.js'

type Services = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  AccountChangesRoom &
  FactorsRoom &
  ConfiguredProviders &
  ProvidersRoom &
  SignInRoom & { emailChanges: EmailChanges }

/** Operators remove ways in which an account signs in. */
const factorChanges = (services: Services) => {
  const { identityLinks, userChanges, factors, providerName } = services
  const { byOperator } = services.accountChanges

  return {
    /** The result says whether there was a password. */
    expirePassword: (actor: OperatorContext) =>
      byOperator(actor, 'password_expired', async (sql, user) => {
        if (user.passwordHash === undefined) return { result: false, changes: {} }
        await userChanges.expirePassword(sql, user.id)
        return { result: true, changes: { password_expired: user.disabled ? { mail: null } : {} } }
      }),

    /**
     * Removes these second factors: every one, if none is named. The result is the number of passkeys that were removed. If the account had
     * none of the factors, nothing changes and no mail is sent.
     */
    resetFactors: (actor: OperatorContext, methods?: readonly SecondFactorMethod[]) =>
      byOperator(actor, 'factors_reset', async (sql, { id }) => {
        const removed = await factors.remove(sql, id, methods)
        const changed = changedFactors(removed)
        return { result: removed.passkey, changes: changed.length > 0 ? { factors_reset: { factors: changed } } : {} }
      }),

    /** A later sign-in with the provider does not link the account again by its address. */
    unlinkProvider: (actor: OperatorContext, provider: ProviderId) =>
      byOperator(actor, 'provider_unlinked', async (sql, { id }) => {
        const linkedIdentities = (await identityLinks.identitiesOf(sql, id)).filter(
          (identity) => identity.provider === provider,
        )
        if (linkedIdentities.length === 0) return refuse('not_linked')
        const identities = linkedIdentities.map(({ subject }) => ({ provider, subject }))
        await identityLinks.unlinkAndRemember(sql, id, identities)
        return {
          changes: { provider_unlinked: { mail: { providerName: providerName(provider) }, event: { provider } } },
        }
      }),
  }
}

/**
 * The user gets a mail about a change by an administrator in the browser, or by a program with a key. An operator at the command line
 * tells users in another way, or not at all.
 */
const mailUnlessByCommand = ({ client }: OperatorContext) => (client.actor ? {} : { mail: null })

/** A personnel system that enables everyone who is on its list must not give an account back to a thief. Neither must support. */
const mayLiftLockDown = ({ client: { actor } }: OperatorContext) => actor === undefined || actor.role === 'admin'

/** Whether the owner must choose a new password after a lock-down: the account has no password, or only one from before the lock-down. */
export const needsNewPassword = ({ lockedDownAt, passwordHash, passwordDistrusted }: User) =>
  lockedDownAt !== undefined && (passwordHash === undefined || passwordDistrusted)

/** Takes an account out of a thief's reach, and gives it back to its owner. */
const lockDowns = (services: Services) => {
  const { userChanges, undos, resetLinks } = services
  const { byOperator } = services.accountChanges

  /** The present address may be the thief's, and a former one the owner's. */
  const addressesOf = async (sql: Transaction, { id, email }: User) => {
    const openUndos = (await undos.openOf(sql, id)).filter(({ isVoid }) => !isVoid)
    return [...new Set([email, ...openUndos.map((undo) => undo.email)])]
  }

  return {
    /** The result says whether the user was disabled before. */
    lockDown: (actor: OperatorContext) =>
      byOperator(actor, 'user_locked_down', async (sql, user) => {
        const to = await addressesOf(sql, user)
        await userChanges.disable(sql, user.id, { isLockDown: true })
        // A second lock-down voids what has come since the first. It sends no mail, because the owner knows from the first one.
        const mail = user.lockedDownAt === undefined ? { to } : null
        return { result: user.disabled, changes: { user_locked_down: { mail } } }
      }),

    /**
     * A password from before a lock-down expires, and the owner chooses a new one with a mailed link. A password that the owner has chosen
     * since, with an undo link, stays. `keepsPassword`: the old password stays too, because the operator knows that no one else has it.
     * `isLinkNeeded`: no link can be mailed, so the operator has to print one.
     * While a former owner can take the account back, no link is mailed: the one that the former owner has also removes what a thief added.
     */
    enable: (actor: OperatorContext, { keepsPassword = false } = {}) =>
      byOperator(actor, ['user_enabled', 'password_expired'], async (sql, user) => {
        const unchanged = { wasDisabled: false, isResetLinkSent: false, isLinkNeeded: false, formerOwner: undefined }
        if (!user.disabled) return { result: unchanged, changes: {} }
        if (user.lockedDownAt !== undefined && !mayLiftLockDown(actor)) return refuse('locked_down')
        const hasPassword = user.passwordHash !== undefined
        const isDistrusted = user.passwordDistrusted && !keepsPassword
        const formerOwner = isDistrusted ? await undos.formerOwnerOf(sql, user) : undefined
        const expiresPassword = hasPassword && isDistrusted
        // Whoever disables an account in doubt, and enables it again, does not know whose it is.
        const isInDoubt = formerOwner !== undefined || (user.lockedDownAt === undefined && isOwnerInDoubt(user))
        const needsLink = needsNewPassword(user) && (expiresPassword || !hasPassword) && !isInDoubt
        const isResetLinkSent = needsLink && resetLinks.canMailTo(user)
        await userChanges.enable(sql, user.id, { isOwnerInDoubt: isInDoubt })
        if (expiresPassword) await userChanges.expirePassword(sql, user.id)
        const resetLink = isResetLinkSent ? await resetLinks.sendInside(sql, user, actor.client) : undefined
        if (isRefused(resetLink)) return resetLink
        return {
          result: { wasDisabled: true, isResetLinkSent, isLinkNeeded: needsLink && !isResetLinkSent, formerOwner },
          changes: {
            user_enabled:
              formerOwner !== undefined && actor.client.actor
                ? { mail: { to: [user.email, formerOwner] } }
                : mailUnlessByCommand(actor),
            ...(expiresPassword && { password_expired: { mail: null } }),
          },
        }
      }),
  }
}

/** `from`: the address that the account must still have. `isFinal`: no undo link works any more, and the former address gets no mail. */
type NewEmail = { from: string; email: Email; isFinal: boolean }

/** Changes of any account by operators, and by programs with a key. */
export const createOperatorChanges = (services: Services) => {
  const { userChanges, sessions, emailChanges } = services
  const { byOperator } = services.accountChanges

  return {
    ...factorChanges(services),
    ...lockDowns(services),

    /** The result says whether the user was disabled before. */
    disable: (actor: OperatorContext) =>
      byOperator(actor, 'user_disabled', async (sql, user) => {
        if (user.disabled) {
          // The database may have been restored to an earlier state, in which it does not know sessions that were begun since.
          await sessions.endAll(sql, 'user_disabled', user.id)
          return { result: true, changes: {} }
        }
        await userChanges.disable(sql, user.id)
        return { result: false, changes: { user_disabled: mailUnlessByCommand(actor) } }
      }),

    setEmail: (actor: OperatorContext, { from, email, isFinal }: NewEmail) => {
      const change = byOperator(actor, 'email_set', async (sql, user) => {
        if (user.email !== from) return refuse('changed_meanwhile')
        await emailChanges.apply(sql, user, email, { isProven: false, isFinal })
        return { changes: { email_set: { mail: isFinal ? null : { newEmail: email.email } } } }
      })
      return emailChanges.unlessTaken(change)
    },

    endSessions: (actor: OperatorContext) =>
      byOperator(actor, 'sessions_ended', async () => ({ changes: { sessions_ended: {} } })),

    remove: async (actor: OperatorContext) => {
      const removed = await byOperator(actor, 'user_deleted', async (sql, user) => {
        const recipients = await deleteAccount(services, sql, user, 'user_deleted')
        return { changes: { user_deleted: { mail: { byOperator: true, ...recipients } } } }
      })
      return isRefused(removed) ? removed : undefined
    },
  }
}

/** How many members leave in one transaction when a group is deleted. */
const memberBatch = 500

const kinds = ['group_joined', 'group_left'] as const

/** Changes the members of groups. A change takes effect within two seconds at every instance, and signs no user out. */
export const createGroupChanges = ({
  database,
  accountChanges,
  groups,
  events,
}: MessagesRoom & AccountChangesRoom & { database: Database; groups: Groups }) => {
  const changeGroups = (groupChange: GroupChange) => async (sql: Transaction, user: User) => {
    const outcome = await groups.change(sql, user, groupChange)
    if (isRefused(outcome)) return outcome
    const { joined, left } = outcome
    return {
      /** Whether anything has changed. */
      result: joined.length + left.length > 0,
      changes: {
        ...(joined.length > 0 && { group_joined: { event: { reason: joined.join(',') } } }),
        ...(left.length > 0 && { group_left: { event: { reason: left.join(',') } } }),
      },
    }
  }

  /** Removes at most `limit` members from the group in one transaction. Returns how many. */
  const removeMembers = (client: Client, name: string, limit: number) =>
    database.transaction(async (sql) => {
      await events.checkActor(sql, client)
      const members = await groups.lockMembers(sql, name, limit)
      for (const userId of members) {
        const change = changeGroups({ remove: [name] })
        const outcome = await accountChanges.byOperatorInside(sql, { userId, client }, kinds, change)
        if (isRefused(outcome)) throw new Error(`A member whose row is held could not leave: ${outcome.refused}`)
      }
      return members.length
    })

  return {
    change: (context: OperatorContext, groupChange: GroupChange) =>
      accountChanges.byOperator(context, kinds, changeGroups(groupChange)),

    removeMembers,

    /**
     * Deletes a group. With `alsoWithMembers` its members leave first, in several transactions: if the deletion is interrupted, some have
     * left.
     */
    deleteGroup: async (client: Client, name: string, { alsoWithMembers }: { alsoWithMembers: boolean }) => {
      let members = 0
      for (;;) {
        const removed = await groups.remove(name, client)
        if (!isRefused(removed)) return { members }
        if (removed.refused !== 'group_has_members' || !alsoWithMembers) return removed
        members += await removeMembers(client, name, memberBatch)
      }
    },
  }
}
