import { equalInConstantTime, fingerprint } from '../lib/random.js'
import type { RecordRow } from './sessions.store.js'
import type { RefreshToken } from './tokens.js'

/**
 * How a refresh token compares with the row of its session. `valid`: it is the newest token, or newer than the row, or another request has
 * rotated it a moment ago. `replaced`: a step-up or a change, such as that of the password, has just replaced it.
 */
export type TokenStanding = 'valid' | 'replaced' | 'theft'

/**
 * Compares a token with the row of its session. An old token that is neither valid nor replaced counts as stolen, and the caller ends the
 * session.
 */
export const standingOf = (row: RecordRow, { text, claims }: RefreshToken): TokenStanding => {
  const presentedHash = fingerprint(text)
  const isPresented = (hash: Uint8Array | null) => hash !== null && equalInConstantTime(hash, presentedHash)
  // A token is newer than its row if the last write was lost in a failover.
  if (isPresented(row.token_hash) || claims.gen > row.generation) return 'valid'
  if (row.just_voided && isPresented(row.voided_hash)) return 'replaced'
  // This is usually 1. After T5 → T6, a change of the groups and T6 → T7 at once, T5 is 2 rotations old, and gets T7 too.
  const ageInRotations = [row.previous_hash, ...(row.earlier_hashes ?? []).toReversed()].findIndex(isPresented) + 1
  if (!row.just_rotated || ageInRotations === 0) return 'theft'
  // If the numbers differ, a successor of the token was replaced since, and the newest token does not descend from it.
  return claims.gen + ageInRotations === row.generation ? 'valid' : 'replaced'
}
