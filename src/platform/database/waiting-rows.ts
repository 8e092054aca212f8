/** Above this number the exact count does not matter. */
export const countedUpTo = 10_000

const countOf = (table: string, state: 'is null' | 'is not null') =>
  `(select count(*) from (select 1 from ${table} where next_attempt_at ${state} limit $1) as counted)`

/** Selects how many rows of a queue are `waiting` for their next attempt, and how many are `given_up`. Its parameter is `countedUpTo`. */
export const waitingAndGivenUp = (table: string) =>
  `select ${countOf(table, 'is not null')} as waiting, ${countOf(table, 'is null')} as given_up`
