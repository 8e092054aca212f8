import { readCookie } from './cookies.js'
import { addressOf } from './settings.js'

/** The longest address to return to that the service accepts, in characters. */
const longestReturnTo = 512

/** `/` if the request target does not begin with a slash, such as `*` or a full URL. */
const pathOf = (path: string) => (path.startsWith('/') ? path : '/')

/** The addresses of pages of the service that send the user back to the application afterwards. */
export const createServicePages = (publicUrl: string, appUrl: string = publicUrl) => {
  const applicationOrigin = new URL(addressOf('appUrl', appUrl)).origin
  const isSameHost = applicationOrigin === new URL(publicUrl).origin
  const addressInApplication = (path: string) => (isSameHost ? path : applicationOrigin + path)

  /** If the address is too long, the query is dropped, and then the whole path. */
  const shortReturnTo = (path: string) =>
    [pathOf(path), pathOf(path).replace(/\?.*/s, ''), '/']
      .map(addressInApplication)
      .find(({ length }) => length <= longestReturnTo) ?? '/'

  const pageAddress = (page: string, path?: string) => {
    const address = isSameHost ? page : publicUrl + page
    if (path === undefined) return address
    return `${address}${page.includes('?') ? '&' : '?'}returnTo=${encodeURIComponent(shortReturnTo(path))}`
  }

  return {
    redirectCounter: createRedirectCounter(applicationOrigin),
    applicationOrigin,
    /** `page` is a page of the service, and `path` the page of the application to which the user returns. */
    pageAddress,
    /** The address with its origin, because a framework may put something in front of a path. */
    pageUrl: (page: string, path?: string) => new URL(pageAddress(page, path), publicUrl).href,
  }
}

/** The path of a page of the application. The address may come from a request, so an address of another origin becomes `/`. */
export const pagePath = (address: string, origin: string) => {
  const url = URL.canParse(address, origin) ? new URL(address, origin) : undefined
  // A browser takes `//host` for another site.
  return url?.origin === origin ? `/${url.pathname.replace(/^\/+/, '')}${url.search}${url.hash}` : '/'
}

/** For links to the sign-in page. The service is not asked, so a page that is made during a build can have such a link, too. */
export const createSignInUrl =
  (readOptions: () => { publicUrl: string; appUrl?: string }) =>
  (returnTo = '/'): string => {
    const { publicUrl, appUrl } = readOptions()
    const { applicationOrigin, pageUrl } = createServicePages(addressOf('publicUrl', publicUrl), appUrl)
    return pageUrl('/login', pagePath(returnTo, applicationOrigin))
  }

/** A browser that opens several old tabs at once redirects once for each tab. Only more redirects than these count as a loop. */
const maxRedirects = 9

/**
 * The cookie that counts redirects to the sign-in page within ten seconds. After the ninth there is no redirect: the sign-in page sees
 * a session and the application does not, so the two would redirect for ever. Over https the name of the cookie has a prefix, so
 * that no sibling host can plant the cookie.
 */
const createRedirectCounter = (appUrl: string) => {
  const isSecure = appUrl.startsWith('https:')
  const name = `${isSecure ? '__Host-' : ''}latchkey_redirects`
  const attributes = `Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  return {
    /** The `Set-Cookie` line that counts one more redirect. Undefined if there were too many, or if the request has the cookie twice. */
    nextCookie: (cookies: string | undefined) => {
      const { value, isDoubled } = readCookie(cookies, name)
      const next = /^\d$/.test(value ?? '') ? Number(value) + 1 : 1
      return isDoubled || next > maxRedirects ? undefined : `${name}=${next}; Max-Age=10; ${attributes}`
    },
    /** The `Set-Cookie` lines that clear the count after a request with a session: the redirects before it were no loop. */
    clearingCookies: (cookies: string | undefined) =>
      readCookie(cookies, name).value === undefined ? [] : [`${name}=; Max-Age=0; ${attributes}`],
  }
}
