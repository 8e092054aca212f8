// The peer: Better Auth with its own pg adapter on the same PostgreSQL, in a process of its own. It is installed apart from
// the project: `npm ci --ignore-scripts --prefix bench/peers`.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { askOnce, cookiesOf, isUp, request } from '../load/connection.mjs'
import { cost, password } from './latchkey.mjs'
import { processes } from './stores.mjs'

const folder = new URL('../peers/', import.meta.url)
const program = fileURLToPath(new URL('better-auth.js', folder))
const paths = { session: '/api/auth/get-session', signIn: '/api/auth/sign-in/email', signUp: '/api/auth/sign-up/email' }

export const hasBetterAuth = () => existsSync(new URL('node_modules/better-auth/package.json', folder))

/** @param {{ databaseUrl: string, cookieCache: boolean }} options */
export const startBetterAuth = async ({ databaseUrl, cookieCache }) => {
  const { freePort, ownFolder, startServer } = await processes()
  const port = await freePort()
  const server = await startServer({
    command: process.execPath,
    args: [program],
    folder: await ownFolder('bench-peer'),
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      BCRYPT_COST: String(cost),
      COOKIE_CACHE: cookieCache ? 'on' : 'off',
    },
    ready: () => isUp(port, paths.session, 200),
  })
  const post = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const answer = await askOnce(port, request('POST', path, { body }))
    if (answer.status !== 200) throw new Error(`Better Auth answered ${answer.status}: ${answer.body}`)
    return answer
  }
  const addressOf = (/** @type {string} */ name) => `${name}@example.com`
  return {
    port,
    pid: server.pid,
    sessionPath: paths.session,
    stop: server.stop,
    signUp: (/** @type {string} */ name) => post(paths.signUp, { name, email: addressOf(name), password }),
    loginRequest: (/** @type {string} */ name) =>
      request('POST', paths.signIn, { body: { email: addressOf(name), password } }),
    signIn: async (/** @type {string} */ name) => {
      const cookie = cookiesOf(await post(paths.signIn, { email: addressOf(name), password }))
      const { body } = await askOnce(port, request('GET', paths.session, { cookie }))
      if (!body.includes(addressOf(name))) throw new Error('Better Auth does not know whom it signed in')
      return cookie
    },
  }
}
