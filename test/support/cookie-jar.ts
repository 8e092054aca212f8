import type { Clock } from '../../src/lib/clock.js'
import { expectCookieLines } from './cookie-lines.js'

/**
 * Keeps cookies as a browser does, as far as one site goes. With a clock, it forgets each as soon as its `Max-Age` is over. Without one it
 * keeps them for ever, as a thief does: then the service itself has to refuse what has expired.
 */
export const createCookieJar = (cookies: Iterable<[string, string]> = [], clock?: Clock) => {
  const jar = new Map<string, string>(cookies)
  const ends = new Map<string, number>()
  return Object.assign(jar, {
    /** Takes over what an answer sets or clears, and compares each line with the table of cookies. */
    keep: (setCookies: string[], { isSecure = false } = {}) => {
      expectCookieLines(setCookies, { isSecure })
      for (const setCookie of setCookies) {
        const [pair = '', ...attributes] = setCookie.split('; ')
        const [name = '', ...value] = pair.split('=')
        const maxAge = attributes.find((attribute) => attribute.startsWith('Max-Age='))?.slice('Max-Age='.length)
        if (maxAge === '0') jar.delete(name)
        else jar.set(name, value.join('='))
        if (clock && maxAge !== undefined) ends.set(name, clock.now().getTime() + Number(maxAge) * 1000)
      }
    },
    /** The Cookie header of the next request; empty when there is none. */
    header: () => {
      const isOver = (name: string) => clock !== undefined && (ends.get(name) ?? Infinity) <= clock.now().getTime()
      for (const name of [...jar.keys()].filter(isOver)) jar.delete(name)
      return [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    },
  })
}
