// Sign-ins and refreshes with very many users, against the same with an almost empty database of the same server, in turns.
import { randomInt } from 'node:crypto'
import { largeDatabase, startLarge } from '../../subjects/large.mjs'
import { compareCandidates, openCandidate, startFilled } from '../table-size.mjs'

/** @typedef {NonNullable<import('../../subjects/stores.mjs').Stores>} Stores */

/** @param {Stores} stores @param {import('../../subjects/large.mjs').LargeSizes} sizes */
export const measureRequests = async (stores, { users, sessions }) => {
  const small = await startFilled(stores, { users: 1000, sessions: 1000 })
  // Sessions that an earlier run has refreshed are met again too seldom to matter.
  const first = randomInt(sessions)
  const large = await openCandidate(await startLarge(stores), await largeDatabase(stores), { users, sessions }, first)
  await compareCandidates(small, large)
}
