/** Parts of the API document for every route of a sign-in that waits for its second step. */
export const clearsChallenge = { 401: 'Clears challenge, if the sign-in is over' }
export const needsChallenge = { security: [{ challenge: [] }] }
