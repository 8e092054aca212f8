const placeholderOrigin = 'http://return-to.invalid'
const maxLength = 512

/**
 * The address if it is a page of one of these sites. Control characters and backslashes are refused, because browsers drop the former
 * and read the latter as slashes.
 */
const inAllowedSite = (value: string, allowedOrigins: readonly string[]) => {
  if (!/^https?:\/\/[^\\\s\u0000-\u001f\u007f-\u009f]+$/i.test(value) || !URL.canParse(value)) return undefined
  const { origin, username, password, href } = new URL(value)
  return allowedOrigins.includes(origin) && !username && !password && href.length <= maxLength ? href : undefined
}

/**
 * The place to go after signing in, if it is a path of our own site, or a page of an allowed site. Browsers drop tabs and
 * line breaks, read a backslash as a slash and fold `/..//host` into `//host`, so the address is judged both as written and
 * as a browser would read it; and with its path decoded, since a proxy in front of us may decode before it passes a path on.
 */
export const safeReturnTo = (value: string | undefined, allowedOrigins: readonly string[] = []): string | undefined => {
  if (value === undefined || value.length > maxLength) return undefined
  if (!isOwnPath(value)) return inAllowedSite(value, allowedOrigins)
  if (!URL.canParse(value, placeholderOrigin)) return undefined
  const url = new URL(value, placeholderOrigin)
  const path = fullyDecoded(url.pathname)
  if (url.origin !== placeholderOrigin || path === undefined || !isOwnPath(path)) return undefined
  const asBrowsersRead = url.pathname + url.search + url.hash
  return isOwnPath(asBrowsersRead) && asBrowsersRead.length <= maxLength ? asBrowsersRead : undefined
}

const isOwnPath = (path: string) => /^\/(?!\/)[^\\\u0000-\u001f\u007f-\u009f]*$/.test(path) && !/^\/\s/.test(path)

const fullyDecoded = (path: string) => {
  let current = path
  try {
    for (let round = 0; round < 4; round += 1) {
      const next = decodeURIComponent(current)
      if (next === current) return current
      current = next
    }
  } catch {
    return undefined
  }
  return undefined
}
