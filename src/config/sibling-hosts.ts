type Given = { nodeEnv?: unknown; publicUrl?: unknown; cookieDomain?: unknown; allowedOrigins?: unknown }

const isPlain = (origin: unknown) => typeof origin === 'string' && !origin.startsWith('https:')

/** What is wrong with the hosts that are to share a session. */
export const siblingFaults = ({ nodeEnv, publicUrl, cookieDomain, allowedOrigins }: Given) => {
  const host = typeof publicUrl === 'string' ? new URL(publicUrl).hostname : 'localhost'
  const isAbove = typeof cookieDomain === 'string' && (host === cookieDomain || host.endsWith(`.${cookieDomain}`))
  const isUnsafe = nodeEnv === 'production' && Array.isArray(allowedOrigins) && allowedOrigins.some(isPlain)
  return [
    ...(cookieDomain === undefined || isAbove
      ? []
      : ['COOKIE_DOMAIN: must be the host of PUBLIC_URL, or a domain above it']),
    ...(isUnsafe ? ['ALLOWED_ORIGINS: must begin with https:// in production'] : []),
  ]
}
