import { get } from 'node:http'
import { fileURLToPath } from 'node:url'
import { ownFolder, type RunningServer, startServer } from '../servers/server.js'
import { until } from '../until.js'

const thisProgram = fileURLToPath(new URL('../../../dist/main.js', import.meta.url))

export const secretOf = (letter: string) =>
  Array.from({ length: 16 }, (_, index) => `${letter}${(index * 7919 + 104_729).toString(36)}`).join('-')

const productionSettings = {
  NODE_ENV: 'production',
  HOST: '127.0.0.1',
  TRUST_PROXY: '127.0.0.1',
  MAIL_FROM: 'Latchkey <no-reply@example.com>',
  JWT_SECRET: secretOf('a'),
  BCRYPT_COST: '10',
  WORKER_THREADS: '2',
  GENERAL_LIMIT: '1000000/15m',
  LOGIN_LIMIT: '1000000/15m',
  ACCOUNT_LIMIT: '1000000/1h',
  SIGN_IN_LIMIT: '1000000/1h',
  NETWORK_SIGN_IN_LIMIT: '1000000/1h',
  NETWORK_MAIL_LIMIT: '1000000/1h',
  DRAIN_DELAY: '300ms',
  LOG_LEVEL: 'info',
}

export type Instance = Omit<RunningServer, 'restart'> & {
  port: number
  url: string
  /** Ends it as an operator does, and resolves when it has gone. */
  terminate(): Promise<void>
  /** Starts it again on its port after an end, with settings or a program of its own if given. */
  again(settings?: Record<string, string>, program?: string): Promise<void>
}

const isHealthy = (port: number) =>
  new Promise<boolean>((resolve) => {
    const asked = get({ host: '127.0.0.1', port, path: '/health', timeout: 3000, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => resolve(false))
  })

/** The program itself in a process of its own, in production, on the port that is given. */
export const startInstance = async (
  port: number,
  given: Record<string, string>,
  firstProgram = thisProgram,
): Promise<Instance> => {
  const launch = async (settings: Record<string, string>, program: string) =>
    startServer({
      command: process.execPath,
      args: [program, 'serve'],
      folder: await ownFolder('instance'),
      env: { ...productionSettings, ...given, ...settings, PORT: String(port) },
      ready: () => isHealthy(port),
    })
  let server = await launch({}, firstProgram)
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    pid: () => server.pid(),
    alive: () => server.alive(),
    signal: (name) => server.signal(name),
    log: () => server.log(),
    stop: () => server.stop(),
    terminate: async () => {
      server.signal('SIGTERM')
      await until('the instance ends', () => !server.alive())
    },
    again: async (settings = {}, program = thisProgram) => {
      await server.stop()
      server = await launch(settings, program)
    },
  }
}
