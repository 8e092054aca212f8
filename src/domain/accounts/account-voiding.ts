import type { Transaction } from '../../platform/database/database.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import type { Challenges } from '../sign-in/challenges.js'
import type { Voided } from './account-change-table.js'

type Dependencies = {
  oneTimeTokens: Pick<OneTimeTokens, 'forgetResets'>
  trustedDevices: Pick<TrustedDevices, 'removeAll'>
  challenges: Pick<Challenges, 'removeAll'>
}

export type Voiding = Record<Voided, (sql: Transaction, userId: string) => Promise<unknown>>

/** How each of the things that a change voids is removed. */
export const createAccountVoiding = ({ oneTimeTokens, trustedDevices, challenges }: Dependencies): Voiding => ({
  resets: oneTimeTokens.forgetResets,
  'trusted devices': trustedDevices.removeAll,
  'waiting sign-ins': challenges.removeAll,
})
