/** The id of a stored request begins with the id of its application, so that the application is known even after the request is over. */
export const applicationIdOf = (requestId: string) => requestId.slice(0, Math.max(requestId.lastIndexOf('.'), 0))
