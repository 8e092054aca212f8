// The peer that most teams write themselves: see bench/peers/express.js. Installed with Better Auth.
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { askOnce, cookiesOf, isUp, request } from '../load/connection.mjs'
import { processes } from './stores.mjs'

const folder = new URL('../peers/', import.meta.url)

export const hasExpress = () => existsSync(new URL('node_modules/express/package.json', folder))

/** @param {{ databaseUrl: string, redisUrl: string }} stores */
export const startExpress = async ({ databaseUrl, redisUrl }) => {
  const { freePort, ownFolder, startServer } = await processes()
  const port = await freePort()
  const server = await startServer({
    command: process.execPath,
    args: [fileURLToPath(new URL('express.js', folder))],
    folder: await ownFolder('bench-peer'),
    env: {
      NODE_ENV: 'production',
      PORT: String(port),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      REDIS_PREFIX: `express-bench-${randomBytes(4).toString('hex')}:`,
      JWT_SECRET: randomBytes(48).toString('hex'),
    },
    ready: () => isUp(port, '/health', 204),
  })
  return {
    port,
    pid: server.pid,
    stop: server.stop,
    signIn: async (/** @type {string} */ name) => cookiesOf(await askOnce(port, request('POST', `/session/${name}`))),
  }
}
