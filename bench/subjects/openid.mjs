// Two OpenID providers with one application each, and what that application and its users' browsers send: in the same shape for both.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { askOnce, cookiesOf, isUp, request } from '../load/connection.mjs'
import { startLatchkey } from './latchkey.mjs'
import { processes } from './stores.mjs'

/**
 * The functions called …Request return the text of a request. `requestCode` sends one with the cookie of a browser, and returns the code.
 * @typedef {object} Provider
 * @property {number} port
 * @property {() => number} pid
 * @property {readonly string[]} people
 * @property {(person: string) => Promise<string>} signIn
 * @property {(cookie: string) => Promise<string>} requestCode
 * @property {(code: string) => string} redeemRequest
 * @property {(token: string) => string} refreshRequest
 * @property {(token: string) => string} userInfoRequest
 * @property {() => Promise<void>} stop
 */
/** @typedef {{ id: string, secret: string }} Registered */

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const peer = fileURLToPath(new URL('../peers/oidc-provider.mjs', import.meta.url))
const redirectAddress = 'https://notes.example.com/callback'
export const scope = 'openid profile email'
const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')

/** The requests of the application to the token endpoint and to UserInfo. @type {(registered: Registered, paths: { token: string, userInfo: string }) => Pick<Provider, 'redeemRequest' | 'refreshRequest' | 'userInfoRequest'>} */
const requestsOf = ({ id, secret }, paths) => {
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  const token = (/** @type {Record<string, string>} */ form) => request('POST', paths.token, { authorization, form })
  return {
    redeemRequest: (code) =>
      token({ grant_type: 'authorization_code', code, redirect_uri: redirectAddress, code_verifier: verifier }),
    refreshRequest: (refreshToken) => token({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    userInfoRequest: (accessToken) => request('GET', paths.userInfo, { authorization: `Bearer ${accessToken}` }),
  }
}

const parametersOf = (/** @type {string} */ id) =>
  new URLSearchParams({
    client_id: id,
    response_type: 'code',
    redirect_uri: redirectAddress,
    scope,
    state: randomBytes(16).toString('base64url'),
    nonce: randomBytes(16).toString('base64url'),
    code_challenge: challenge,
    code_challenge_method: 'S256',
  })

const codeIn = (/** @type {string | undefined} */ location) => {
  const code = location && new URL(location).searchParams.get('code')
  if (!code) throw new Error(`There is no code in ${location}`)
  return code
}

/** @type {(settings: Record<string, string>) => Promise<Registered>} */
const addApplication = async (settings) => {
  const args = [program, 'application', 'add', 'Notes', '--redirect', redirectAddress, '--everyone', '--json']
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const part of child.stdout) printed += part
  return JSON.parse(printed)
}

const openTimeout = 30_000

/** @param {{ databaseUrl: string, redisUrl: string }} stores */
export const startLatchkeyProvider = async (stores) => {
  const latchkey = await startLatchkey(stores)
  const registered = await addApplication(latchkey.settings)
  const discovery = '/api/auth/.well-known/openid-configuration'
  const deadline = Date.now() + openTimeout
  while (!(await isUp(latchkey.port, discovery, 200))) {
    if (Date.now() > deadline) throw new Error(`${discovery} did not answer 200 within ${openTimeout} ms`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return {
    ...latchkey,
    ...requestsOf(registered, { token: '/api/auth/token', userInfo: '/api/auth/userinfo' }),
    registered,
    /** Sends what the page at `/api/auth/authorize` sends. */
    requestCode: async (/** @type {string} */ cookie) => {
      const body = { parameters: parametersOf(registered.id).toString() }
      const answer = await askOnce(latchkey.port, request('POST', '/api/auth/authorization', { cookie, body }))
      if (answer.status !== 200) throw new Error(`No code: ${answer.status} ${answer.body}`)
      return codeIn(JSON.parse(answer.body).location)
    },
  }
}

/** @param {{ databaseUrl: string, people: readonly string[] }} options */
export const startOidcProvider = async ({ databaseUrl, people }) => {
  const { freePort, ownFolder, startServer } = await processes()
  const port = await freePort()
  const registered = { id: 'notes', secret: randomBytes(32).toString('base64url') }
  const client = { client_id: registered.id, client_secret: registered.secret, redirect_uris: [redirectAddress] }
  const grants = { grant_types: ['authorization_code', 'refresh_token'], id_token_signed_response_alg: 'RS256' }
  const server = await startServer({
    command: process.execPath,
    args: [peer],
    folder: await ownFolder('bench-peer'),
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      CLIENT: JSON.stringify({ ...client, ...grants }),
    },
    ready: () => isUp(port, '/.well-known/openid-configuration', 200),
  })
  /** @type {(path: string, cookie: string) => Promise<{ location: string, cookie: string }>} */
  const open = async (path, cookie) => {
    const answer = await askOnce(port, request('GET', path, { cookie }))
    const location = /^location: ([^\r\n]+)/im.exec(answer.head)?.[1] ?? ''
    const named = new Map(`${cookie}; ${cookiesOf(answer)}`.split('; ').map((pair) => [pair.split('=')[0], pair]))
    return { location, cookie: [...named.values()].filter(Boolean).join('; ') }
  }
  const pathOf = (/** @type {string} */ address) => address.replace(/^https?:\/\/127\.0\.0\.1:\d+/, '')
  return {
    port,
    pid: server.pid,
    people,
    stop: server.stop,
    ...requestsOf(registered, { token: '/token', userInfo: '/me' }),
    signIn: async (/** @type {string} */ person) => {
      const hint = new URLSearchParams({ ...Object.fromEntries(parametersOf(registered.id)), login_hint: person })
      const asked = await open(`/auth?${hint}`, '')
      const signedIn = await open(pathOf(asked.location), asked.cookie)
      const resumed = await open(pathOf(signedIn.location), signedIn.cookie)
      codeIn(resumed.location)
      return resumed.cookie
    },
    requestCode: async (/** @type {string} */ cookie) =>
      codeIn((await open(`/auth?${parametersOf(registered.id)}`, cookie)).location),
  }
}
