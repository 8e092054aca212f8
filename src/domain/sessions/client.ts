/** Where a request came from, as a record and an event keep it. */
export type Client = { ip: string; userAgent: string }
