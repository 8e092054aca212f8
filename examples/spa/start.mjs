// `node examples/spa/start.mjs`: starts Latchkey with a database of its own, the API and the pages. Ctrl-C stops all of them.
// Everything is forgotten when it ends.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer as createSocket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'
import { createApi } from './api.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const port = Number(process.env.PORT ?? 5173)
// As it was: the two addresses below are for Vite, and are no settings of Latchkey.
const environment = { ...process.env }

const freePort = async () => {
  const socket = createSocket().listen(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (socket.address())
  socket.close()
  return port
}

const latchkeyPort = await freePort()
process.env.LATCHKEY_URL = `http://127.0.0.1:${latchkeyPort}`
const api = createApi(process.env.LATCHKEY_URL).listen(0, '127.0.0.1')
await once(api, 'listening')
const { port: apiPort } = /** @type {import('node:net').AddressInfo} */ (api.address())
process.env.API_URL = `http://127.0.0.1:${apiPort}`

const pages = await createServer({ root: here, server: { port, strictPort: true } })
await pages.listen()
// Vite would end this program before Latchkey has stopped. `stop` closes both.
process.removeAllListeners('SIGTERM')

const folder = await mkdtemp(join(tmpdir(), 'latchkey-spa-'))
const settings = {
  DATA_DIR: folder,
  PORT: String(latchkeyPort),
  // The address that browsers know, and the address that Vite connects from.
  PUBLIC_URL: `http://localhost:${port}`,
  TRUST_PROXY: '127.0.0.1',
  AFTER_SIGN_IN: '/',
}
const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))
const latchkey = spawn(process.execPath, [program, 'serve'], {
  cwd: folder,
  env: { ...environment, ...settings },
  stdio: ['ignore', 'inherit', 'inherit'],
})
console.log(`The notes are at http://localhost:${port}/ and mails at http://localhost:${port}/dev/mailbox`)

const stop = async () => {
  latchkey.kill('SIGTERM')
  api.close()
  await pages.close()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void stop())
const forget = async () => {
  await stop()
  await rm(folder, { recursive: true, force: true })
  process.exit()
}
latchkey.once('exit', () => void forget())
