import { writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { testProgram } from './programs.js'
import { freePort, ownFolder, type RunningServer, startServer } from './server.js'

export type RedisServer = RunningServer & { port: number; url: string }

export type RedisOptions = {
  /** Lines of redis.conf; a list repeats the name, as `sentinel` does. */
  settings?: Record<string, string | string[]>
  sentinel?: boolean
}

const testSettings = { bind: '127.0.0.1', save: '""', appendonly: 'no' }

/** A Redis server (or sentinel) of its own, on a free port, in a temporary folder. */
export const startRedis = async ({ settings = {}, sentinel = false }: RedisOptions = {}): Promise<RedisServer> => {
  const command = testProgram('redis')
  const folder = await ownFolder('redis')
  const port = await freePort()
  const file = join(folder, 'redis.conf')
  const all = { ...(sentinel ? { bind: '127.0.0.1' } : testSettings), dir: folder, port: String(port), ...settings }
  // A sentinel rewrites its file when it learns something, so this cannot be done by arguments alone.
  const lines = Object.entries(all).flatMap(([name, value]) => [value].flat().map((each) => `${name} ${each}`))
  await writeFile(file, `${lines.join('\n')}\n`)

  const args = sentinel ? [file, '--sentinel'] : [file]
  const server = await startServer({ command, args, folder, ready: () => answersPing(port) })
  return { ...server, port, url: `redis://127.0.0.1:${port}` }
}

// One that asks for a password or says that it is still loading is up, too; only the former counts as ready.
const answersPing = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', timeout: 1000 })
    const finish = (ready: boolean) => {
      socket.destroy()
      resolve(ready)
    }
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (answer) => finish(/^(\+PONG|-NOAUTH)/.test(answer.toString())))
    socket.once('timeout', () => finish(false))
    socket.once('error', () => finish(false))
  })
