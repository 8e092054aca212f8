// What a service sees all day: mostly access checks, some pages and refreshes, and now and then a sign-in or a new password.
import { cookiesOf, openConnection, request } from './connection.mjs'
import { runClients } from './loads.mjs'

/** @typedef {import('../subjects/latchkey.mjs').Latchkey} Latchkey */

const clients = 8
// So that the memory is measured, and not how much the machine can do.
const pause = 10

const passwordCheck = request('POST', '/api/auth/password-strength', { body: { password: 'violet-Harbor-91-lantern' } })

/** The nth request of a client. @type {(n: number, cookie: string, login: string) => string} */
const requestOf = (n, cookie, login) => {
  if (n % 200 === 0) return login
  if (n % 100 === 50) return passwordCheck
  if (n % 50 === 25) return request('POST', '/api/auth/refresh', { cookie })
  if (n % 10 === 5) return request('GET', '/login')
  if (n % 10 === 6) return request('GET', '/api/auth/account', { cookie })
  return request('GET', '/api/auth/verify', { cookie })
}

/** Returns how many requests were answered. @type {(latchkey: Latchkey, seconds: number) => Promise<number>} */
export const mixedLoad = async ({ port, people, loginRequest, signIn }, seconds) => {
  const browsers = await Promise.all(
    people.slice(0, clients).map(async (person) => {
      return { login: loginRequest(person), cookie: await signIn(person), connection: openConnection(port), steps: 0 }
    }),
  )
  const step = async (/** @type {number} */ client) => {
    const browser = browsers[client]
    if (!browser) return false
    browser.steps += 1
    const answer = await browser.connection.ask(requestOf(browser.steps, browser.cookie, browser.login))
    if (answer.status >= 400) throw new Error(`A request ended with ${answer.status}: ${answer.body}`)
    browser.cookie = cookiesOf(answer) || browser.cookie
    await new Promise((resolve) => setTimeout(resolve, pause))
    return true
  }
  try {
    return (await runClients({ clients, seconds, step })).done
  } finally {
    for (const { connection } of browsers) connection.close()
  }
}
