/** The id of a stored request begins with that of its application, so that a request that is over still has a name. */
export const applicationIdOf = (requestId: string) => requestId.slice(0, Math.max(requestId.lastIndexOf('.'), 0))
