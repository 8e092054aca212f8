// How many access checks the service answers per second. Each address is compared with an empty server that sends the same bytes.
import { askOnce, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { flood, hasWrk } from '../load/wrk.mjs'
import { startBareHttp } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {import('../load/connection.mjs').Answer} Answer */

const connections = 32
/** Short rounds, so that both sides of a ratio see the same load of the machine. */
const plan = { rounds: 11, seconds: 1 }

/** The empty server has Node's own timer for idle connections, which adds a line. @type {(answer: Answer) => string} */
const comparable = ({ head, body }) => `${head.replaceAll(/\r\n(date|keep-alive): [^\r]*/gi, '')}\r\n\r\n${body}`

/** An empty server that gives the answer which the service gives. @param {BenchSetup['latchkey']} latchkey @param {string} path @param {string} cookie */
const startLimit = async ({ port, insidePort }, path, cookie) => {
  const ask = (/** @type {number} */ port) => askOnce(port, request('GET', path, { cookie }))
  const answer = await ask(port)
  if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}`)
  const { status, head, body } = answer
  const length = status === 204 ? [] : ['content-length', String(Buffer.byteLength(body))]
  const fixed = { status, headers: [...Object.entries(headersOf(head)).flat(), ...length], body }
  const bare = await startBareHttp(fixed)
  await askOnce(insidePort, request('POST', '/', { body: fixed }))
  for (const limit of [bare.port, insidePort]) {
    if (comparable(await ask(limit)) !== comparable(answer)) throw new Error('The limit sends other bytes')
  }
  return bare
}

/** @param {string} name @param {{ port: number, pid: () => number }} server @param {string} path @param {string} cookie */
const candidate = (name, { port, pid }, path, cookie) => ({
  name,
  runLoad: withCoreTime(pid(), (seconds) => flood({ port, path, cookie, connections, seconds })),
})

/** @param {NonNullable<BenchSetup['peers']>} peers */
const peerCandidates = async ({ plain, cached, express }) => {
  const plainCookie = await plain.signIn('person-0')
  const cachedCookie = await cached.signIn('person-0')
  return [
    candidate('Better Auth `get-session`, cookie cache', cached, cached.sessionPath, cachedCookie),
    candidate('Better Auth `get-session`', plain, plain.sessionPath, plainCookie),
    candidate('express, jsonwebtoken, helmet `me`', express, '/api/auth/me', await express.signIn('person-0')),
  ]
}

/** @param {BenchSetup} setup */
export const measureAccess = async ({ latchkey, peers }) => {
  const cookie = await latchkey.signIn('person-0')
  const by = (await hasWrk()) ? 'wrk' : 'our own clients'
  const how = `${connections} connections by ${by}, ${plan.rounds} rounds of ${plan.seconds} s, medians`

  /** @param {string} title @param {string} path @param {import('../load/rounds.mjs').Candidate[]} others */
  const compare = async (title, path, others) => {
    const bare = await startLimit(latchkey, path, cookie)
    try {
      const limit = candidate('limit: node:http, the same bytes', bare, path, cookie)
      const ours = candidate(`Latchkey \`GET ${path}\``, latchkey, path, cookie)
      const part = { port: latchkey.insidePort, pid: latchkey.pid }
      const within = candidate('the same server inside of the service', part, path, cookie)
      printRows(`${title}: ${how}`, await compareInRounds([limit, within, ours, ...others], plan))
    } finally {
      await bare.stop()
    }
  }
  await compare('Access check for a proxy', '/api/auth/verify', [])
  await compare('Access check for a program', '/api/auth/me', peers ? await peerCandidates(peers) : [])
}
