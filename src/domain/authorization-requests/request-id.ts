/** The id begins with that of the application, so that a request that is over still has a name. */
export const applicationOf = (requestId: string) => requestId.slice(0, Math.max(requestId.lastIndexOf('.'), 0))
