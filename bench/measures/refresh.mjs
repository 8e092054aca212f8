// How many sessions can be refreshed in a second, against a bare server that does the same work by the same drivers, the stack
// that most teams would write themselves, and one row updated by its key.
import { askOnce, cookiesOf, openConnection, request } from '../load/connection.mjs'
import { withCoreTime } from '../load/core-time.mjs'
import { headersOf } from '../load/headers.mjs'
import { closedLoad } from '../load/loads.mjs'
import { inRounds, printRows } from '../load/rounds.mjs'
import { createOneRowUpdates, hasPgbench, pgbench, startBareRefresh } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */
/** @typedef {{ port: number, pid: () => number }} Target */

const clients = 32
const plan = { rounds: 5, seconds: 3 }
const refreshWith = (/** @type {string} */ cookie) => request('POST', '/api/auth/refresh', { cookie })

/**
 * Each client goes on with the cookies of its last answer, as a browser does.
 * @param {Target} target
 * @param {string[]} cookies
 */
const createTurn = ({ port, pid }, cookies) => {
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
    turn: withCoreTime(pid(), (seconds) => closedLoad({ clients, seconds, step })),
    close: () => {
      for (const { connection } of browsers) connection.close()
    },
  }
}

/** @type {(people: readonly string[], signIn: (name: string) => Promise<string>) => Promise<string[]>} */
const signInAll = async (people, signIn) => {
  /** @type {string[]} */
  const cookies = []
  for (const person of people.slice(0, clients)) cookies.push(await signIn(person))
  return cookies
}

/** @param {Stage} stage */
export const measureRefresh = async ({ latchkey, peers, databaseUrl }) => {
  if (!databaseUrl) return console.log('\nRefresh: left out, because it needs PostgreSQL and Redis.')
  const { people, signIn } = latchkey
  const first = await askOnce(latchkey.port, refreshWith(await signIn('person-0')))
  const bare = await startBareRefresh(latchkey.settings, headersOf(first.head))
  const rows = await createOneRowUpdates(databaseUrl, clients)
  const turns = {
    'limit: node:http, the same drivers and work': createTurn(bare, await signInAll(people, signIn)),
    'Latchkey `POST /api/auth/refresh`': createTurn(latchkey, await signInAll(people, signIn)),
    ...(peers && {
      'express, jsonwebtoken, express-rate-limit, pg': createTurn(
        peers.express,
        await signInAll(people, peers.express.signIn),
      ),
    }),
  }
  const oneRow = (/** @type {number} */ seconds) => closedLoad({ clients, seconds, step: rows.update })
  const subjects = [
    ...Object.entries(turns).map(([name, { turn }]) => ({ name, turn })),
    { name: 'one row by key, the same driver and pool', turn: oneRow },
  ]
  if (hasPgbench()) {
    const turn = (/** @type {number} */ seconds) => pgbench(databaseUrl, { clients: rows.pool, rows: clients, seconds })
    subjects.push({ name: 'the same row by `pgbench`', turn })
  }
  try {
    const title = `Refresh: ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await inRounds(subjects, plan))
  } finally {
    for (const { close } of Object.values(turns)) close()
    await Promise.all([bare.stop(), rows.close()])
  }
  return undefined
}
