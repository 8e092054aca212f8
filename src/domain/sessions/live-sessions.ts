/** What tells a live session from one that is over, now. */
export type LiveAt = { now: Date; begunAfter: Date }

/** A session lasts for `sessionMaxAge` at most, also one that began while the setting was longer. */
export const liveAt = (now: Date, sessionMaxAge: number): LiveAt => ({
  now,
  begunAfter: new Date(now.getTime() - sessionMaxAge),
})

/** The one condition in SQL, for the table `refresh_token_records as r` and the parameters with the two times. */
export const liveSession = (now: string, begunAfter: string) =>
  `(r.expires_at > ${now}::timestamptz and r.created_at > ${begunAfter}::timestamptz)`
