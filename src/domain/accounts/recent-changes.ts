import type { Undo } from '../undos/undos.js'
import type { User } from '../users/users.js'
import type { Clearing, TotpClearing } from './account-clearing.js'

/** The app before the oldest of these changes: none, or another one. */
export const totpBefore = (open: readonly Undo[]): TotpClearing => {
  for (const undo of open) {
    if (undo.kind === 'totp') return 'removed'
    if (undo.kind === 'totp_replaced') return undo.former ?? 'removed'
  }
  return 'stays'
}

/** The changes of the last seven days that can still be taken back, whatever their order. The oldest names come back. */
export const clearingOf = (user: User, open: readonly Undo[]): Clearing => ({
  username: open.flatMap((undo) => (undo.kind === 'username' ? [undo.former] : []))[0] ?? user.username,
  language: open.flatMap((undo) => (undo.kind === 'language' ? [undo.former] : []))[0] ?? user.language,
  totp: totpBefore(open),
  passkeys: open.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : [])),
  identities: open.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})
