/**
 * Time is passed in, so that a test can move it. `offset` says how far the clock was moved, in milliseconds: statements
 * that compare moments of several instances use the database's own clock plus this offset, which is zero in a real run.
 */
export type Clock = { now(): Date; offset(): number }

export const systemClock: Clock = { now: () => new Date(), offset: () => 0 }

export const later = (moment: Date, milliseconds: number) => new Date(moment.getTime() + milliseconds)
