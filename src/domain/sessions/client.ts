/**
 * Where a request came from, as a record and an event keep it. `typedName` is what somebody gave as their name to sign in:
 * it may be anything, a password by mistake, and is never stored or logged as it is.
 */
export type Client = { ip: string; userAgent: string; requestId?: string; typedName?: string }
