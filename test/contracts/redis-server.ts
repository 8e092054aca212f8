import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cache } from '../../src/platform/cache/cache.js'

/** Real servers for the tests that break them. Where there is no binary those tests are skipped. */
export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0

export type RedisServer = {
  port: number
  url: string
  command(...words: string[]): Promise<string>
  freeze(): void
  thaw(): void
  kill(): Promise<void>
  start(): Promise<void>
  remove(): Promise<void>
}

const listening = async (port: number) => {
  const server = createServer().listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** A Cluster node also listens ten thousand above its port, so the port is taken from the lower half. */
const freePort = async (): Promise<number> => {
  const port = 20_000 + Math.floor(Math.random() * 10_000)
  try {
    await listening(port + 10_000)
    return await listening(port)
  } catch {
    return freePort()
  }
}

const answers = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = createConnection(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.setTimeout(500, () => socket.destroy())
    socket.once('data', () => socket.destroy())
    socket.once('data', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })

export const until = async (holds: () => boolean | Promise<boolean>, milliseconds: number) => {
  const end = performance.now() + milliseconds
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It did not come about within ${milliseconds} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export const answersPing = (cache: Cache) =>
  cache.ping().then(
    () => true,
    () => false,
  )

/** `program` is the server itself or `redis-sentinel`, which wants a file of its own to write to as its first word. */
export const createRedisServer = async (words: string[] = [], program = 'redis-server'): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-redis-'))
  const port = await freePort()
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const lasting = program === 'redis-server' ? ['--save', '', '--appendonly', 'no'] : []
  let running: ReturnType<typeof spawn> | undefined

  const start = async () => {
    running = spawn(program, [...words, ...fixed, ...lasting], { stdio: 'ignore' })
    await until(() => answers(port), 5_000)
  }
  const kill = async () => {
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const gone = once(running, 'exit')
    running.kill('SIGKILL')
    await gone
  }
  await start()
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    command: async (...command) => {
      const { stdout } = await promisify(execFile)('redis-cli', ['-p', String(port), ...command], { timeout: 10_000 })
      return stdout.trim()
    },
    freeze: () => void running?.kill('SIGSTOP'),
    thaw: () => void running?.kill('SIGCONT'),
    kill,
    start,
    remove: async () => {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
