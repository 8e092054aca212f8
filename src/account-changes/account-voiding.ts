import type { EmailChanges } from '../accounts/email-changes.js'
import type { ProviderId } from '../contract/providers.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import { forgetMailedCodes } from '../messages/mailed-codes.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Transaction } from '../platform/database/database.js'
import type { Challenges } from '../sign-in/challenges.js'
import { forgetMailSignIns } from '../sign-in/mail-sign-ins.js'
import type { Voided } from './account-change-columns.js'
import type { Undos } from './undos.js'
import { withdrawDeviceApprovals } from './withdraw-approvals.js'

type Dependencies = {
  oneTimeTokens: Pick<OneTimeTokens, 'forgetResets' | 'forgetRestoreLinks'>
  undos: Pick<Undos, 'voidOfLaterEmails'>
  emailChanges: Pick<EmailChanges, 'forget'>
  trustedDevices: Pick<TrustedDevices, 'removeAll'>
  challenges: Pick<Challenges, 'removeAll' | 'removeOfProvider'>
}

export type Voiding = Record<Voided, (sql: Transaction, userId: string, provider?: ProviderId) => Promise<unknown>>

/** Says how each of the things that a change voids is removed. */
export const createAccountVoiding = ({
  oneTimeTokens,
  undos,
  emailChanges,
  trustedDevices,
  challenges,
}: Dependencies): Voiding => ({
  resets: oneTimeTokens.forgetResets,
  'restore links': oneTimeTokens.forgetRestoreLinks,
  'undo links to later addresses': undos.voidOfLaterEmails,
  'email change': emailChanges.forget,
  'trusted devices': trustedDevices.removeAll,
  // Mailed codes are forgotten whatever their purpose: they were mailed when less proof was asked for, or to a former address.
  'waiting sign-ins': async (sql, userId) => {
    await forgetMailedCodes(sql, userId)
    await forgetMailSignIns(sql, userId)
    await withdrawDeviceApprovals(sql, userId)
    await challenges.removeAll(sql, userId)
  },
  // A device may have been approved in a session that the provider has proven, so all approvals are withdrawn.
  'waiting sign-ins by provider': async (sql, userId, provider) => {
    await withdrawDeviceApprovals(sql, userId)
    if (provider) await challenges.removeOfProvider(sql, userId, provider)
  },
})
