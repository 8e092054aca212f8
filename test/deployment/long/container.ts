import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasEnded, sendSignal } from '../../support/servers/processes.js'
import { testProgram } from '../../support/servers/programs.js'
import { freePort } from '../../support/servers/server.js'
import { until } from '../../support/until.js'
import type { Images } from './base-image.js'

const minutes = 60_000

export const publicUrl = 'https://auth.example.com'

type Wanted = {
  images: Images
  image: string
  /** An empty file. Docker puts one into each container, and buildah with this isolation does not. */
  marker: string
  /** The folder that is mounted at /data; without it there is none. */
  data?: string
  user?: string
}

/**
 * A container of the image with nothing but PUBLIC_URL and a volume, and a port of its own: isolation by chroot has the network and the
 * processes of this machine.
 */
export const createContainer = async ({ images, image, marker, data, user }: Wanted) => {
  const name = (await images.buildah(['from', '--pull-never', image])).stdout.trim()
  const port = await freePort()
  const mounts = [`${marker}:/.dockerenv:ro`, ...(data === undefined ? [] : [`${data}:/data`])]
  const settings = { PUBLIC_URL: publicUrl, PORT: String(port), HOST: '127.0.0.1' }
  const options = [
    ...['run', '--isolation', 'chroot', ...(user === undefined ? [] : ['--user', user])],
    ...mounts.flatMap((mount) => ['--volume', mount]),
    ...Object.entries(settings).flatMap(([setting, value]) => ['--env', `${setting}=${value}`]),
    ...[name, '--'],
  ]
  return {
    url: `http://127.0.0.1:${port}`,
    inside: (...command: string[]) => images.buildah([...options, ...command]),
    serve: () => serve([...options, 'latchkey', 'serve'], images.env, data),
  }
}

const serve = (command: string[], env: NodeJS.ProcessEnv, data = '') => {
  const child = spawn(testProgram('buildah'), command, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let log = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      log += chunk
    })
  const ended = once(child, 'close')
  const isReady = () => {
    if (child.exitCode !== null) throw new Error(`The service has ended: ${log}`)
    return log.includes('Server listening')
  }
  return {
    log: () => log,
    ended,
    ready: () => until('the service listens', isReady, 2 * minutes),
    /** The signal of an engine's `stop`, and what is left when the container has ended. */
    stop: async () => {
      const startedAt = performance.now()
      const [lock = ''] = (await readdir(data)).filter((name) => name.includes('.lock-service-'))
      const postgres = Number((await readFile(join(data, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0])
      sendSignal(Number(/service-(\d+)-/.exec(lock)?.[1]), 'SIGTERM')
      await ended
      return { milliseconds: performance.now() - startedAt, isPostgresGone: hasEnded(postgres) }
    },
  }
}
