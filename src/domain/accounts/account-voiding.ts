import type { ProviderId } from '../../contract/providers.js'
import type { Transaction } from '../../platform/database/database.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { OneTimeTokens } from '../one-time-tokens/one-time-tokens.js'
import type { Challenges } from '../sign-in/challenges.js'
import type { Voided } from './account-change-table.js'

type Dependencies = {
  oneTimeTokens: Pick<OneTimeTokens, 'forgetResets'>
  trustedDevices: Pick<TrustedDevices, 'removeAll'>
  challenges: Pick<Challenges, 'removeAll' | 'removeOfProvider'>
}

export type Voiding = Record<Voided, (sql: Transaction, userId: string, provider?: ProviderId) => Promise<unknown>>

/** How each of the things that a change voids is removed. */
export const createAccountVoiding = ({ oneTimeTokens, trustedDevices, challenges }: Dependencies): Voiding => ({
  resets: oneTimeTokens.forgetResets,
  'trusted devices': trustedDevices.removeAll,
  'waiting sign-ins': challenges.removeAll,
  'waiting sign-ins by provider': async (sql, userId, provider) =>
    provider && challenges.removeOfProvider(sql, userId, provider),
})
