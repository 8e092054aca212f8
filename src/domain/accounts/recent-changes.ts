import type { Undo } from '../undos/undos.js'
import type { User } from '../users/users.js'
import type { Clearing } from './account-clearing.js'

/** What was changed in the last seven days and can still be taken back, whatever the order. The oldest names come back. */
export const clearingOf = (user: User, open: readonly Undo[]): Clearing => ({
  username: open.flatMap((undo) => (undo.kind === 'username' ? [undo.former] : []))[0] ?? user.username,
  language: open.flatMap((undo) => (undo.kind === 'language' ? [undo.former] : []))[0] ?? user.language,
  totp: open.some(({ kind }) => kind === 'totp'),
  passkeys: open.flatMap((undo) => (undo.kind === 'passkey' ? [undo.id] : [])),
  identities: open.flatMap((undo) => (undo.kind === 'provider' ? [undo.identity] : [])),
})
