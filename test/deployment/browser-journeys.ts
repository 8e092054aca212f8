import { expect } from 'vitest'
import type { Tab, TestBrowser } from '../support/browsers.js'
import { password } from '../support/site/site.js'
import { startElsewhere } from './application.js'

/** The tab ends at exactly this address, with the application's own page for a known user. */
export const arrivesAt = async (tab: Tab, address: string) => {
  await tab.see('Hello, ')
  await expect.poll(() => tab.address()).toBe(address)
}

/** Runs in a page: a WebSocket that is greeted, hears its own words again, and is closed. */
export const talk = (path: string) =>
  new Promise<string[]>((resolve) => {
    const heard: string[] = []
    const socket = new WebSocket(`${location.origin.replace('http', 'ws')}${path}`)
    socket.onmessage = ({ data }) => {
      heard.push(String(data))
      if (heard.length === 1) socket.send('an echo')
      else socket.close()
    }
    socket.onclose = ({ code }) => resolve([...heard, `closed with ${code}`])
  })

/** Every way to an application that a browser may take from another site, with a query and a fragment. */
export const arriveFromElsewhere = async (browser: TestBrowser, here: string, username: string) => {
  const elsewhere = await startElsewhere()
  const tab = await browser.tab()
  const follow = async (page: string) => {
    await tab.goTo(page)
    await tab.press('go')
  }
  try {
    // A stranger ends at the sign-in page, stays there, and comes to the place after signing in.
    await follow(elsewhere.pageWithLinkTo(`${here}/todos?a=1&b=%2F#/open/3`))
    await tab.see('Forgot password?')
    const loginAddress = `${here}/login?returnTo=${encodeURIComponent('/todos?a=1&b=%2F#/open/3')}`
    // Firefox tells of a new address a little later than it shows the page.
    await expect.poll(() => tab.address()).toBe(loginAddress)
    await tab.fill('username', username)
    await tab.fill('password', password)
    await tab.press('Sign in')
    await arrivesAt(tab, `${here}/todos?a=1&b=%2F#/open/3`)

    // A signed-in user arrives, although the browser withholds the cookies at first.
    await follow(elsewhere.pageWithLinkTo(`${here}/todos?a=2#x`))
    await arrivesAt(tab, `${here}/todos?a=2#x`)
    await follow(elsewhere.pageThatRedirectsTo(`${here}/todos#/as/a/provider`))
    await arrivesAt(tab, `${here}/todos#/as/a/provider`)

    // The access token has expired besides: it is renewed after the bounce.
    await tab.forgetCookie('access_token')
    await follow(elsewhere.pageWithLinkTo(`${here}/todos#y`))
    await arrivesAt(tab, `${here}/todos#y`)

    const heard = await tab.evaluate(talk, '/socket')
    expect(heard).toEqual([`Hello, ${encodeURIComponent(encodeURIComponent(username))}`, 'an echo', 'closed with 1005'])
  } finally {
    await tab.close()
    await elsewhere.stop()
  }
}

/** Cookies as a browser may send them, with `T` for a good access token, and what the application must get of them. */
export const cookieHeaders: [sent: string, kept: string | undefined][] = [
  ['access_token=T; refresh_token=b; csrf_secret=c', undefined],
  ['theme=dark; access_token=T', 'theme=dark'],
  ['access_token=T;theme=dark;refresh_token=b;lang=de', 'theme=dark;lang=de'],
  [
    'refresh_token=1; access_token=T; refresh_token=2; theme=dark; refresh_token=3; lang=de; refresh_token=4',
    'theme=dark; lang=de',
  ],
  ['csrf_secret=1; csrf_secret=2; a=1; access_token=T; registration=r; registration=s', 'a=1'],
  ['__Host-csrf_secret=c; a=1; __Host-attempt_abc-EFGH_jkl=s; b=2; access_token=T; attempt_abcdefghijkl=s', 'a=1; b=2'],
  ['a=1; __Host-registration=r; pending_link=p; access_token=T; __Host-pending_link=p; latchkey_bounced=1', 'a=1'],
  [
    'challenge=c; a=1; __Host-challenge=c; trusted_device=t; access_token=T; __Host-known_device=k; known_device=k',
    'a=1',
  ],
  ['__Host-latchkey_bounced=1; a=1; passkey_abcdefghijkl=p; access_token=T; __Host-passkey_abc-EFGH_jkl=p', 'a=1'],
  ['  refresh_token =b ;  a=1 ; access_token=T', 'a=1'],
  ['q="; access_token=T; r="', 'q="; r="'],
  ['q="x y; refresh_token=b; z"; access_token=T', 'q="x y; z"'],
  [
    'my_access_token=1; access_tokens=2; attempts=3; access_token=T; registrations=4',
    'my_access_token=1; access_tokens=2; attempts=3; registrations=4',
  ],
  [
    'c0=0; refresh_token=0; c1=1; refresh_token=1; c2=2; refresh_token=2; c3=3; access_token=T; c4=4',
    'c0=0; c1=1; c2=2; c3=3; c4=4',
  ],
]
