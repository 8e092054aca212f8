import { expectCookieLines } from './cookie-lines.js'

/** Keeps cookies as a browser does, as far as one site goes. */
export const createCookieJar = (cookies: Iterable<[string, string]> = []) => {
  const jar = new Map<string, string>(cookies)
  return Object.assign(jar, {
    /** Takes over what an answer sets or clears, and compares each line with the table of cookies. */
    keep: (setCookies: string[], { isSecure = false } = {}) => {
      expectCookieLines(setCookies, { isSecure })
      for (const setCookie of setCookies) {
        const [pair = '', ...attributes] = setCookie.split('; ')
        const [name = '', ...value] = pair.split('=')
        if (attributes.includes('Max-Age=0')) jar.delete(name)
        else jar.set(name, value.join('='))
      }
    },
    /** The Cookie header of the next request; empty when there is none. */
    header: () => [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
  })
}
