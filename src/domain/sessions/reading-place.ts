import { nilUuid } from '../../lib/uuid.js'

/** Where to go on reading: the entries that `seen` does not show, in the order of their key, after `xact` and `sid`. */
export type Place = { seen: string | null; xact: string; sid: string }

export const beginning: Place = { seen: null, xact: '0', sid: nilUuid }

/** The oldest transaction that was still open: what comes next has this number or a higher one. */
const oldestOpen = (snapshot: string) => snapshot.slice(0, snapshot.indexOf(':'))

export const placeAfter = (snapshot: string): Place => ({ seen: snapshot, xact: oldestOpen(snapshot), sid: nilUuid })

/** A reading: which server it was, and what it could see. */
export type Seen = { server: string; snapshot: string }

/** False on another server, on one that was restarted, and on one that was set back: its numbers mean other transactions. */
export const isContinued = (earlier: Seen, later: Seen) =>
  earlier.server === later.server && BigInt(oldestOpen(later.snapshot)) >= BigInt(oldestOpen(earlier.snapshot))
