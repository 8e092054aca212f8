// How many sessions can be refreshed per second, against a bare server that does the same work by the same drivers, the stack
// that most teams would write themselves, and beside them the update of one row by its key.
import { askOnce, cookiesOf, openConnection, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { runClients } from '../load/loads.mjs'
import { compareInRounds, inMilliseconds, printRows, printTable } from '../load/rounds.mjs'
import { createOneRowUpdates, hasPgbench, pgbench, startBareRefresh } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {{ port: number, pid: () => number }} Target */

const clients = 32
const plan = { rounds: 5, seconds: 3 }
const refreshWith = (/** @type {string} */ cookie) => request('POST', '/api/auth/refresh', { cookie })

/**
 * Each client goes on with the cookies of its last answer, as a browser does.
 * @param {Target} target
 * @param {string[]} cookies
 */
export const refreshLoad = ({ port, pid }, cookies) => {
  const browsers = cookies.map((cookie) => ({ cookie, connection: openConnection(port) }))
  const step = async (/** @type {number} */ client) => {
    const browser = browsers[client]
    if (!browser) return false
    const answer = await browser.connection.ask(refreshWith(browser.cookie))
    if (answer.status !== 200) throw new Error(`A refresh ended with ${answer.status}: ${answer.body}`)
    browser.cookie = cookiesOf(answer)
    return true
  }
  return {
    runLoad: withCoreTime(pid(), (seconds) => runClients({ clients, seconds, step })),
    close: () => {
      for (const { connection } of browsers) connection.close()
    },
  }
}

/** @type {(people: readonly string[], signIn: (name: string) => Promise<string>) => Promise<string[]>} */
export const signInAll = async (people, signIn) => {
  /** @type {string[]} */
  const cookies = []
  for (const person of people.slice(0, clients)) cookies.push(await signIn(person))
  return cookies
}

/** @param {BenchSetup} setup */
export const measureRefresh = async ({ latchkey, peers, databaseUrl }) => {
  if (!databaseUrl) return console.log('\nRefresh: left out, because it needs PostgreSQL and Redis.')
  const { people, signIn } = latchkey
  const first = await askOnce(latchkey.port, refreshWith(await signIn('person-0')))
  const bare = await startBareRefresh(latchkey.settings, headersOf(first.head))
  const rows = await createOneRowUpdates(databaseUrl, clients)
  const loads = {
    'limit: node:http, the same drivers and work': refreshLoad(bare, await signInAll(people, signIn)),
    'Latchkey `POST /api/auth/refresh`': refreshLoad(latchkey, await signInAll(people, signIn)),
    ...(peers && {
      'express, jsonwebtoken, express-rate-limit, pg': refreshLoad(
        peers.express,
        await signInAll(people, peers.express.signIn),
      ),
    }),
  }
  const oneRow = (/** @type {number} */ seconds) => runClients({ clients, seconds, step: rows.update })
  const refreshes = Object.entries(loads).map(([name, { runLoad }]) => ({ name, runLoad }))
  /** @type {import('../load/rounds.mjs').Candidate[]} */
  const updates = [{ name: "the service's driver and pool", runLoad: oneRow }]
  if (hasPgbench()) {
    const runLoad = (/** @type {number} */ seconds) =>
      pgbench(databaseUrl, { clients: rows.pool, rows: clients, seconds })
    updates.push({ name: '`pgbench`', runLoad })
  }
  try {
    const how = `${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    const results = await compareInRounds([...refreshes, ...updates], plan)
    printRows(`Refresh: ${how}`, results.slice(0, refreshes.length))
    printTable(`Update of one row by its key, in the rounds of the refresh: ${how}`, [
      ['', 'per second', 'p99'],
      ...results
        .slice(refreshes.length)
        .map(({ name, perSecond, p99 }) => [name, perSecond.toFixed(0), inMilliseconds(p99)]),
    ])
  } finally {
    for (const { close } of Object.values(loads)) close()
    await Promise.all([bare.stop(), rows.close()])
  }
  return undefined
}
