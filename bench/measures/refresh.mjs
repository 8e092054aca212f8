// How many sessions can be refreshed in a second, against one row updated by its key: by the same driver and pool, and by
// PostgreSQL's own load generator.
import { cookiesOf, openConnection, request } from '../load/connection.mjs'
import { closedLoad } from '../load/loads.mjs'
import { inRounds, printRows } from '../load/rounds.mjs'
import { createOneRowUpdates, hasPgbench, pgbench } from '../subjects/limits.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */
/** @typedef {import('../subjects/latchkey.mjs').Latchkey} Latchkey */

const clients = 32
const plan = { rounds: 5, seconds: 4 }

/** Each client goes on with the cookies of its last answer, as a browser does. @param {Latchkey} latchkey */
const openBrowsers = async ({ port, people, signIn }) => {
  /** @type {{ cookie: string, connection: ReturnType<typeof openConnection> }[]} */
  const browsers = []
  for (const person of people.slice(0, clients)) {
    browsers.push({ cookie: await signIn(person), connection: openConnection(port) })
  }
  return {
    refresh: async (/** @type {number} */ client) => {
      const browser = browsers[client]
      if (!browser) return false
      const answer = await browser.connection.ask(request('POST', '/api/auth/refresh', { cookie: browser.cookie }))
      if (answer.status !== 200) throw new Error(`A refresh ended with ${answer.status}: ${answer.body}`)
      browser.cookie = cookiesOf(answer)
      return true
    },
    close: () => {
      for (const { connection } of browsers) connection.close()
    },
  }
}

/** @param {Stage} stage */
export const measureRefresh = async ({ latchkey, databaseUrl }) => {
  if (!databaseUrl) return console.log('\nRefresh: left out, because it needs PostgreSQL and Redis.')
  const [rows, browsers] = [await createOneRowUpdates(databaseUrl, clients), await openBrowsers(latchkey)]
  const subjects = [
    {
      name: 'limit: one row by key, the same driver and pool',
      turn: (/** @type {number} */ seconds) => closedLoad({ clients, seconds, step: rows.update }),
    },
    {
      name: 'Latchkey `POST /api/auth/refresh`',
      turn: (/** @type {number} */ seconds) => closedLoad({ clients, seconds, step: browsers.refresh }),
    },
  ]
  if (hasPgbench()) {
    const turn = (/** @type {number} */ seconds) => pgbench(databaseUrl, { clients: rows.pool, rows: clients, seconds })
    subjects.push(/** @type {typeof subjects[0]} */ ({ name: 'the same row by `pgbench`', turn }))
  }
  try {
    const title = `Refresh: ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await inRounds(subjects, plan))
  } finally {
    browsers.close()
    await rows.close()
  }
  return undefined
}
