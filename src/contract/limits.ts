/**
 * The titles of the three answers with status 429. The specification fixes their bodies, which have no code, so a program tells them
 * apart by their titles. The titles stand in a file of their own, because pages need them, but not the whole table of refusals.
 */
export const limitTitles = {
  too_many_logins: 'Too many login attempts',
  too_many_requests: 'Too many requests',
  too_many_attempts: 'Too many attempts',
} as const

export type LimitCode = keyof typeof limitTitles

/** The code of a 429 by its title (`error` of the body). */
export const codeOfLimit = (error: unknown): LimitCode =>
  (Object.keys(limitTitles) as LimitCode[]).find((code) => limitTitles[code] === error) ?? 'too_many_requests'
