/**
 * The three answers with status 429. The specification fixes their bodies, which have no code, so a program tells them
 * apart by their title. They stand in a file of their own, because the pages need them and not the whole table.
 */
export const limitRefusals = {
  too_many_logins: {
    status: 429,
    error: 'Too many login attempts',
    message: 'Please try again after 15 minutes',
    retryAfter: 900,
  },
  too_many_requests: { status: 429, error: 'Too many requests', message: 'Please slow down' },
  too_many_attempts: {
    status: 429,
    error: 'Too many attempts',
    message: 'Account temporarily locked. Try again in 1 hour.',
  },
} as const

export type LimitCode = keyof typeof limitRefusals

/** The code of a 429 by its title. */
export const codeOfLimit = (error: unknown): LimitCode =>
  (Object.keys(limitRefusals) as LimitCode[]).find((code) => limitRefusals[code].error === error) ?? 'too_many_requests'
