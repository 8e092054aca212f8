/**
 * Where a request came from, as a record and an event keep it. `typedName` is the name in the sign-in form: it may be a
 * password by mistake, so it is never stored or logged as it is.
 */
export type Client = { ip: string; userAgent: string; requestId?: string; typedName?: string }
