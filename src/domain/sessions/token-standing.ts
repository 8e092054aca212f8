import { equalInConstantTime, fingerprint } from '../../lib/random.js'
import type { RefreshToken } from '../tokens/tokens.js'
import type { RecordRow } from './sessions.store.js'

/**
 * The standing of a refresh token beside the row of its session. `valid`: it is the newest one, or newer than the row, or another
 * request has rotated it a moment ago. `replaced`: it lost the race against a step-up or a change such as of the password.
 */
export type TokenStanding = 'valid' | 'replaced' | 'theft'

/** Any other old token counts as stolen: the caller ends the session. */
export const standingOf = (row: RecordRow, { text, claims }: RefreshToken): TokenStanding => {
  const presented = fingerprint(text)
  const isPresented = (hash: Uint8Array | null) => hash !== null && equalInConstantTime(hash, presented)
  // Newer than its row: the last write was lost in a failover.
  if (isPresented(row.token_hash) || claims.gen > row.generation) return 'valid'
  if (row.just_voided && isPresented(row.voided_hash)) return 'replaced'
  // Usually 1. After T5 → T6, a change of the groups and T6 → T7 at once, T5 is 2 rotations old, and gets T7 too.
  const ageInRotations = [row.previous_hash, ...(row.earlier_hashes ?? []).toReversed()].findIndex(isPresented) + 1
  if (!row.just_rotated || ageInRotations === 0) return 'theft'
  // Otherwise a successor of it was replaced since, and it is no longer an ancestor of the newest token.
  return claims.gen + ageInRotations === row.generation ? 'valid' : 'replaced'
}
