import type { Undo } from '../undos/undos.js'
import type { User } from '../users/users.js'
import type { Clearing, TotpClearing } from './account-clearing.js'

/** What becomes of the app if these changes are taken back. The oldest of them decides. */
export const totpBefore = (openUndos: readonly Undo[]): TotpClearing => {
  for (const undo of openUndos) {
    if (undo.kind === 'totp') return 'removed'
    if (undo.kind === 'totp_replaced') return undo.former ?? 'removed'
  }
  return 'stays'
}

/** Takes back every change of the last seven days that can still be undone. `openUndos` has the oldest first: its former names come back. */
export const clearingOf = (user: User, openUndos: readonly Undo[]): Clearing => ({
  username: openUndos.find((undo) => undo.kind === 'username')?.former ?? user.username,
  language: openUndos.find((undo) => undo.kind === 'language')?.former ?? user.language,
  totp: totpBefore(openUndos),
  passkeys: openUndos.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : [])),
  identities: openUndos.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})
