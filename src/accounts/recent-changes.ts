import type { Undo } from '../account-changes/undos.js'
import type { User } from '../users/users.js'
import type { Clearing, TotpClearing } from './account-clearing.js'

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
