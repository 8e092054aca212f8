// Signs a new user in on a service without any settings: registers, and takes the link from the development mailbox.
import { setTimeout as pause } from 'node:timers/promises'

const newUser = { username: 'ada', email: 'ada@example.com', password: 'violet-Harbor-91-lantern' }

/** Waits for the mail, which is sent a moment after the answer, and reads its token. @param {string} address */
const readMailedToken = async (address) => {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const [, token] = /token=([\w-]+)/.exec(await (await fetch(`${address}/dev/mailbox.json`)).text()) ?? []
    if (token) return token
    await pause(100)
  }
  throw new Error('No mail with a link came')
}

/** @param {string} address @returns {Promise<string>} the name of the user who is signed in */
export const firstSignIn = async (address) => {
  /** @type {Map<string, string>} */
  const cookies = new Map()
  const ask = async (/** @type {string} */ path, /** @type {object | undefined} */ body) => {
    const headers = {
      'content-type': 'application/json',
      cookie: [...cookies].map((each) => each.join('=')).join('; '),
    }
    const answer = await fetch(
      address + path,
      body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers },
    )
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split('=')
      cookies.set(name, value)
    }
    if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${await answer.text()}`)
    return answer.json()
  }
  await ask('/api/auth/register', newUser)
  await ask('/api/auth/verify-email', { token: await readMailedToken(address) })
  const { user } = /** @type {{ user: { username: string } }} */ (await ask('/api/auth/me', undefined))
  return user.username
}
