// What the first check of a token costs, whose signature is checked then and never again. Every token here is another one, signed
// like that of a user who has signed in. The limit is an empty server that checks the signature too.
import { createHmac, randomUUID } from 'node:crypto'
import { askOnce, openConnection, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { runClients } from '../load/loads.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { startBareHttp } from '../subjects/limits.mjs'

const clients = 16
const plan = { rounds: 7, seconds: 1 }
const mostPerSecond = 20_000
const path = '/api/auth/verify'

/** Cookies of sessions of their own, from the claims of a real one. @param {string} cookie @param {string} secret */
const createCookieMaker = (cookie, secret) => {
  const [header = '', payload = ''] = /access_token=([^;]*)/.exec(cookie)?.[1]?.split('.') ?? []
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  return () => {
    const signed = `${header}.${Buffer.from(JSON.stringify({ ...claims, sid: randomUUID() })).toString('base64url')}`
    return `access_token=${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
}

/** @param {import('../run.mjs').BenchSetup} setup */
export const measureFirst = async ({ latchkey }) => {
  const secret = latchkey.settings.JWT_SECRET ?? ''
  const newCookie = createCookieMaker(await latchkey.signIn('person-0'), secret)
  const { status, head, body } = await askOnce(latchkey.port, request('GET', path, { cookie: newCookie() }))
  const bare = await startBareHttp({ status, headers: Object.entries(headersOf(head)).flat(), body }, secret)
  /** @type {import('../load/loads.mjs').Connection[]} */
  const opened = []

  /** Requests are made before the time begins: a client that signs meanwhile would send fewer at once. @type {(target: { port: number, pid: () => number }, makeRequest: () => string) => (seconds: number) => Promise<import('../load/rounds.mjs').Measurement>} */
  const createLoad = ({ port, pid }, makeRequest) => {
    const connections = Array.from({ length: clients }, () => openConnection(port))
    opened.push(...connections)
    const runLoad = withCoreTime(pid(), async (seconds) => {
      const ahead = requests.splice(0)
      const step = async (/** @type {number} */ client) =>
        (await connections[client]?.ask(ahead.pop() ?? makeRequest()))?.status === 204
      const measured = await runClients({ clients, seconds, step })
      if (measured.failed > 0) throw new Error(`${measured.failed} access checks were refused`)
      return measured
    })
    /** @type {string[]} */
    const requests = []
    return async (/** @type {number} */ seconds) => {
      while (requests.length < mostPerSecond * seconds) requests.push(makeRequest())
      return runLoad(seconds)
    }
  }
  const known = request('GET', path, { cookie: newCookie() })
  const anew = () => request('GET', path, { cookie: newCookie() })
  const candidates = [
    { name: 'limit: node:http, and the signature', runLoad: createLoad(bare, anew) },
    { name: 'the first check of a token', runLoad: createLoad(latchkey, anew) },
    { name: 'a token that was checked before', runLoad: createLoad(latchkey, () => known) },
  ]
  printRows(
    `First access check of a token: ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`,
    await compareInRounds(candidates, plan),
  )
  for (const connection of opened) connection.close()
  await bare.stop()
}
