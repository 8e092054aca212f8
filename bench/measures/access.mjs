// How many callers can be told from strangers in a second.
import { askOnce, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { inRounds, printRows } from '../load/rounds.mjs'
import { flood, hasWrk } from '../load/wrk.mjs'
import { startBareHttp } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */

const connections = 32
const plan = { rounds: 5, seconds: 4 }

/** @param {Stage} stage */
export const measureAccess = async ({ latchkey, peers }) => {
  const cookie = await latchkey.signIn('person-0')
  const check = await askOnce(latchkey.port, request('GET', '/api/auth/verify', { cookie }))
  if (check.status !== 204) throw new Error(`The access check answered ${check.status}`)
  const bare = await startBareHttp(headersOf(check.head))

  /** @param {string} name @param {{ port: number, pid: () => number }} server */
  const subject = (name, { port, pid }, path = '/', sent = cookie) => ({
    name,
    turn: withCoreTime(pid(), (seconds) => flood({ port, path, cookie: sent, connections, seconds })),
  })
  const subjects = [
    subject('limit: node:http, the same headers, a fixed 204', bare),
    subject('Latchkey `GET /api/auth/verify`', latchkey, '/api/auth/verify'),
    subject('Latchkey `GET /api/auth/me`', latchkey, '/api/auth/me'),
  ]
  if (peers) {
    const { plain, cached, express } = peers
    const [plainCookie, cachedCookie] = [await plain.signIn('person-0'), await cached.signIn('person-0')]
    subjects.push(
      subject('Better Auth `get-session`, cookie cache', cached, cached.sessionPath, cachedCookie),
      subject('Better Auth `get-session`', plain, plain.sessionPath, plainCookie),
      subject('express, jsonwebtoken, helmet `me`', express, '/api/auth/me', await express.signIn('person-0')),
    )
  }
  try {
    const by = (await hasWrk()) ? 'wrk' : 'our own clients'
    const title = `Access check: ${connections} connections by ${by}, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await inRounds(subjects, plan))
  } finally {
    await bare.stop()
  }
}
