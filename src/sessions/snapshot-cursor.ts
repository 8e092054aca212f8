import { nilUuid } from '../lib/uuid.js'

/** The place to continue reading: the entries that the snapshot `seen` does not show, in the order of their key, after `xact` and `sid`. */
export type SnapshotCursor = { seen: string | null; xact: string; sid: string }

export const firstCursor: SnapshotCursor = { seen: null, xact: '0', sid: nilUuid }

/** The oldest transaction that was still open. New entries have its number or a higher one. */
const oldestOpen = (snapshot: string) => snapshot.slice(0, snapshot.indexOf(':'))

export const cursorAfter = (snapshot: string): SnapshotCursor => ({
  seen: snapshot,
  xact: oldestOpen(snapshot),
  sid: nilUuid,
})

/** A reading of the list: which server answered, and the snapshot that it saw. */
export type Reading = { server: string; snapshot: string }

/** False on another server, after a restart, and after the server was set back: its numbers mean other transactions. */
export const isContinuation = (earlier: Reading, later: Reading) =>
  earlier.server === later.server && BigInt(oldestOpen(later.snapshot)) >= BigInt(oldestOpen(earlier.snapshot))
