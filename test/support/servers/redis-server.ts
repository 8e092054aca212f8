import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Cache } from '../../../src/platform/cache/cache.js'
import { until } from '../until.js'
import { portsFrom } from './own-ports.js'
import { testProgram } from './programs.js'

/** A real server for the tests that break it. */
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
const nextPort = portsFrom(20_000, 10_000)

const freePort = async (): Promise<number> => {
  const port = nextPort()
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

export const answersPing = (cache: Pick<Cache, 'ping'>) =>
  cache.ping().then(
    () => true,
    () => false,
  )

/** A sentinel wants a file of its own to write to as its first word. */
export const createRedisServer = async (
  words: string[] = [],
  role: 'server' | 'sentinel' = 'server',
): Promise<RedisServer> => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-redis-'))
  const port = await freePort()
  const fixed = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder]
  const lasting = role === 'server' ? ['--save', '', '--appendonly', 'no'] : ['--sentinel']
  let running: ReturnType<typeof spawn> | undefined

  const start = async () => {
    running = spawn(testProgram('redis'), [...words, ...fixed, ...lasting], { stdio: 'ignore' })
    await until('Redis answers', () => answers(port), 30_000)
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
