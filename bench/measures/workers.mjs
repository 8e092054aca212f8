// How much more two processes of one instance (WORKERS=2) can do than one, and how much more two processes of an empty server can. The load
// generator needs a core too: on two cores it takes from the second process what that could gain.
import { askOnce, request } from '../load/connection.mjs'
import { headersOf } from '../load/headers.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { flood } from '../load/wrk.mjs'
import { startLatchkey } from '../subjects/latchkey.mjs'
import { startBareHttp } from '../subjects/limits.mjs'

const connections = 32
const plan = { rounds: 9, seconds: 1 }
const path = '/api/auth/verify'

/** @param {string} title @param {readonly { name: string, port: number, cookie: string }[]} subjects */
const compare = async (title, subjects) => {
  const candidates = subjects.map(({ name, port, cookie }) => ({
    name,
    runLoad: (/** @type {number} */ seconds) => flood({ port, path, cookie, connections, seconds }),
  }))
  const how = `${connections} connections, ${plan.rounds} rounds of ${plan.seconds} s, medians`
  printRows(`${title}: ${how}`, await compareInRounds(candidates, plan))
}

/** @param {import('../run.mjs').BenchSetup} setup */
export const measureWorkers = async ({ stores }) => {
  if (!stores) return console.log('Several processes need PostgreSQL and Redis, which are not here.')
  const { redisUrl } = stores
  /** @type {{ stop(): Promise<void> }[]} */
  const started = []
  try {
    const ours = []
    for (const workers of [1, 2]) {
      const server = await startLatchkey({ databaseUrl: await stores.database(), redisUrl }, workers)
      started.push(server)
      ours.push({ name: `WORKERS=${workers}`, port: server.port, cookie: await server.signIn('person-0') })
    }
    const { port = 0, cookie = '' } = ours[0] ?? {}
    const { status, head, body } = await askOnce(port, request('GET', path, { cookie }))
    const limits = []
    for (const workers of [1, 2]) {
      const server = await startBareHttp(
        { status, headers: Object.entries(headersOf(head)).flat(), body },
        undefined,
        workers,
      )
      started.push(server)
      limits.push({ name: `limit: node:http in ${workers === 1 ? 'one process' : 'two'}`, port: server.port, cookie })
    }
    await compare('An empty server in several processes', limits)
    await compare('Access check by several processes', ours)
  } finally {
    for (const server of started) await server.stop()
  }
}
