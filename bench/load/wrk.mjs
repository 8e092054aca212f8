// Many requests for one address on a fixed number of connections: by wrk where it is installed, else by our own clients.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { openConnection, request } from './connection.mjs'
import { runClients } from './loads.mjs'

const run = promisify(execFile)

/** @typedef {{ port: number, path: string, cookie?: string | undefined, headers?: readonly string[], connections: number, seconds: number }} Load */
/** @typedef {{ perSecond: number, p99: number, failed: number }} Flow */

export const hasWrk = () =>
  run('wrk', ['--version']).then(
    () => true,
    // wrk prints its version and ends with 1.
    (/** @type {NodeJS.ErrnoException} */ error) => error.code !== 'ENOENT',
  )

const milliseconds = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

/** @type {(load: Load) => Promise<Flow>} */
const byWrk = async ({ port, path, cookie, headers = [], connections, seconds }) => {
  const header = [...headers, ...(cookie ? [`Cookie: ${cookie}`] : [])].flatMap((line) => ['-H', line])
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...header, `http://127.0.0.1:${port}${path}`]
  const { stdout } = await run('wrk', args)
  const [, number, unit] = /99%\s+([\d.]+)(us|ms|s|m)\b/.exec(stdout) ?? []
  const factor = milliseconds[/** @type {keyof typeof milliseconds} */ (unit ?? 'ms')]
  return {
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p99: Number(number) * factor,
    failed: Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0),
  }
}

/** @type {(load: Load) => Promise<Flow>} */
const byOurselves = async ({ port, path, cookie, headers = [], connections, seconds }) => {
  const clients = Array.from({ length: connections }, () => openConnection(port))
  const text = request('GET', path, { cookie, headers })
  const step = async (/** @type {number} */ client) => {
    const answer = await clients[client]?.ask(text)
    return answer !== undefined && answer.status < 400
  }
  const measured = await runClients({ clients: connections, seconds, step })
  for (const client of clients) client.close()
  return measured
}

/** Fails when an answer was a refusal: a fast 401 is not a fast access check. @type {(load: Load) => Promise<Flow>} */
export const flood = async (load) => {
  const flow = (await hasWrk()) ? await byWrk(load) : await byOurselves(load)
  if (flow.failed > 0) throw new Error(`${flow.failed} requests for ${load.path} were refused`)
  return flow
}
