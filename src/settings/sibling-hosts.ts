type Given = { nodeEnv?: unknown; publicUrl?: unknown; cookieDomain?: unknown; allowedOrigins?: unknown }

const isPlainHttp = (origin: unknown) => typeof origin === 'string' && !origin.startsWith('https:')

const isWithin = (host: string, domain: string) => host === domain || host.endsWith(`.${domain}`)

/** Finds faults in the hosts that are to share a session. */
export const siblingFaults = ({ nodeEnv, publicUrl, cookieDomain, allowedOrigins }: Given) => {
  const host = typeof publicUrl === 'string' ? new URL(publicUrl).hostname : 'localhost'
  const isAboveHost = typeof cookieDomain === 'string' && isWithin(host, cookieDomain)
  const hasPlainOrigin = nodeEnv === 'production' && Array.isArray(allowedOrigins) && allowedOrigins.some(isPlainHttp)
  return [
    ...(cookieDomain === undefined || isAboveHost
      ? []
      : ['COOKIE_DOMAIN: must be the host of PUBLIC_URL, or a domain above it']),
    ...(hasPlainOrigin ? ['ALLOWED_ORIGINS: must begin with https:// in production'] : []),
  ]
}

type Hosts = { publicUrl: string; cookieDomain?: string | undefined; allowedOrigins: readonly string[] }

/**
 * A warning for each allowed site that gets no session cookies. A sign-in may lead back to it, but its pages never see who is
 * signed in.
 */
export const warnOfOriginsWithoutCookies = ({ publicUrl, cookieDomain, allowedOrigins }: Hosts) => {
  const getsCookies = (host: string) =>
    cookieDomain === undefined ? host === new URL(publicUrl).hostname : isWithin(host, cookieDomain)
  const outside = allowedOrigins.filter((origin) => !getsCookies(new URL(origin).hostname))
  const where = cookieDomain === undefined ? 'another host, and COOKIE_DOMAIN is not set' : `outside of ${cookieDomain}`
  return outside.map(
    (origin) =>
      `ALLOWED_ORIGINS: ${origin} is ${where}, so browsers send it no session cookies: nobody is signed in there`,
  )
}
