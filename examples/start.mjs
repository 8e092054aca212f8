// Starts Latchkey with a database of its own, and one or more of the examples beside it:
//   node examples/start.mjs express
//   node examples/start.mjs express hono-jsx
// Everything is forgotten when it ends.
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const names = process.argv.slice(2)
const known = ['express', 'hono-jsx', 'openid-client', 'next', 'sveltekit', 'nuxt', 'astro']
if (names.length === 0 || !names.every((name) => known.includes(name))) {
  console.error(`Name one or more examples: ${known.join(', ')}`)
  process.exit(1)
}

const home = fileURLToPath(new URL('..', import.meta.url))
const folder = await mkdtemp(join(tmpdir(), 'latchkey-examples-'))
const latchkeyUrl = `http://localhost:${process.env.LATCHKEY_PORT ?? 3000}`
const ports = (process.env.APP_PORTS ?? '4000,4001').split(',')
/** For a browser, `127.0.0.1` is another host than `localhost`: an application that signs users in with OpenID Connect can be anywhere. */
const hostOf = (/** @type {string} */ name) => (name === 'openid-client' ? '127.0.0.1' : 'localhost')
const apps = names.map((name, place) => ({
  name,
  port: ports[place] ?? '0',
  url: `http://${hostOf(name)}:${ports[place]}`,
}))

// What `latchkey service-key add examples` does.
const serviceKey = `latchkey_${randomBytes(32).toString('base64url')}`
const keysFile = join(folder, 'service-keys')
await writeFile(keysFile, `examples ${createHash('sha256').update(serviceKey).digest('hex')}\n`)

// What `latchkey application add` does.
const secret = randomBytes(32).toString('base64url')
const seedFile = join(folder, 'seed.json')
const applications = apps
  .filter(({ name }) => name === 'openid-client')
  .map(({ name, url }) => ({
    id: name,
    secret,
    name: 'Example',
    redirectAddresses: [`${url}/callback`],
    logoutAddresses: [`${url}/`],
    backchannelLogout: `${url}/logged-out`,
  }))
await writeFile(seedFile, JSON.stringify({ applications }))

/** @type {import('node:child_process').ChildProcess[]} */
const children = []

/** @type {(file: string, args: string[], env: Record<string, string>) => import('node:child_process').ChildProcess} */
const start = (file, args, env) => {
  const child = spawn(process.execPath, [join(home, file), ...args], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.pipe(process.stdout)
  child.once('exit', () => void stop())
  children.push(child)
  return child
}

let isStopping = false
async function stop() {
  if (isStopping) return
  isStopping = true
  const ended = children.map(
    (child) => new Promise((resolve) => (child.exitCode === null ? child.once('exit', resolve) : resolve(0))),
  )
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(ended)
  await rm(folder, { recursive: true, force: true })
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())

const latchkey = start('dist/main.js', ['serve'], {
  HOST: '127.0.0.1',
  PORT: new URL(latchkeyUrl).port,
  DATA_DIR: folder,
  DRAIN_DELAY: '0ms',
  // The applications get public keys, and no secret.
  ACCESS_TOKEN_ALGORITHM: 'ES256',
  SERVICE_KEYS_FILE: keysFile,
  SEED_FILE: seedFile,
  // Logout notices go to this machine.
  BACKCHANNEL_ALLOW_PRIVATE: 'true',
  // Cookies do not know ports, so these applications see the session. On hosts of their own they need COOKIE_DOMAIN as well.
  ALLOWED_ORIGINS: apps.flatMap(({ url }) => (url.includes('//localhost') ? url : [])).join(','),
})
await new Promise((resolve) => {
  latchkey.stdout?.on('data', (/** @type {Buffer} */ text) => text.includes('Latchkey is ready') && resolve(undefined))
  latchkey.once('exit', resolve)
})
for (const { name, port, url } of isStopping ? [] : apps) {
  start(`examples/${name}/run.mjs`, [], {
    PORT: port,
    APP_URL: url,
    LATCHKEY_URL: latchkeyUrl,
    LATCHKEY_SERVICE_KEY: serviceKey,
    ISSUER: `${latchkeyUrl}/api/auth`,
    CLIENT_ID: name,
    CLIENT_SECRET: secret,
  })
}
