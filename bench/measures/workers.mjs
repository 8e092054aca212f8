// How much more two processes of one instance (WORKERS=2) can do than one. The load generator needs a core too: on two cores it
// takes from the second process what that could gain.
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { flood } from '../load/wrk.mjs'
import { startLatchkey } from '../subjects/latchkey.mjs'

const connections = 32
const plan = { rounds: 9, seconds: 1 }
const path = '/api/auth/verify'

/** @param {import('../run.mjs').BenchSetup} setup */
export const measureWorkers = async ({ stores }) => {
  if (!stores) return console.log('Several processes need PostgreSQL and Redis, which are not here.')
  const { redisUrl } = stores
  const started = []
  try {
    for (const workers of [1, 2])
      started.push({
        workers,
        server: await startLatchkey({ databaseUrl: await stores.database(), redisUrl }, workers),
      })
    const candidates = await Promise.all(
      started.map(async ({ workers, server }) => {
        const cookie = await server.signIn('person-0')
        const { port } = server
        return {
          name: `WORKERS=${workers}`,
          runLoad: (/** @type {number} */ seconds) => flood({ port, path, cookie, connections, seconds }),
        }
      }),
    )
    const how = `${connections} connections, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(`Access check by several processes: ${how}`, await compareInRounds(candidates, plan))
  } finally {
    for (const { server } of started) await server.stop()
  }
}
