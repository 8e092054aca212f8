/**
 * Time is passed in, so that a test can move it. `offset` says how far the clock was moved, in milliseconds: statements
 * that compare moments of several instances use the database's own clock plus this offset, which is zero in a real run.
 */
export type Clock = { now(): Date; offset(): number }

export const systemClock: Clock = { now: () => new Date(), offset: () => 0 }

export const later = (moment: Date, milliseconds: number) => new Date(moment.getTime() + milliseconds)

/** A moment that begins with its date, such as `2026-01-31T12:00:00Z`; undefined for any other text. */
export const parseDate = (text: string): Date | undefined => {
  const moment = new Date(text)
  return /^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(moment.getTime()) ? moment : undefined
}
