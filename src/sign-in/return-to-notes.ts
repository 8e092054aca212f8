const maxOrigins = 20
const maxLength = 512

type RequestParts = { query: unknown; log: { warn: (details: object, message: string) => void } }

export type ReturnToNotes = ReturnType<typeof createReturnToNotes>

/**
 * A sign-in that should lead back to a site which is not allowed ends at AFTER_SIGN_IN, and the user does not know why. So the log
 * says it, once for each of the first such sites: anyone can write any address into a link.
 */
export const createReturnToNotes = (
  allowedOrigins: readonly string[],
  protectedApplications: { find(origin: string): unknown },
) => {
  const notedOrAllowed = new Set<string>(allowedOrigins)
  const maxNoted = notedOrAllowed.size + maxOrigins

  return ({ query, log }: RequestParts) => {
    const { returnTo } = (query ?? {}) as { returnTo?: unknown }
    if (typeof returnTo !== 'string' || returnTo.length > maxLength || !/^https?:\/\//i.test(returnTo)) return
    if (!URL.canParse(returnTo)) return
    const { origin } = new URL(returnTo)
    if (notedOrAllowed.has(origin) || protectedApplications.find(origin) || notedOrAllowed.size >= maxNoted) return
    notedOrAllowed.add(origin)
    log.warn({ origin }, 'returnTo names an origin that is not in ALLOWED_ORIGINS')
  }
}
