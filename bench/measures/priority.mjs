// Does it help that the hashing threads have a lower priority? The same process, its threads set to one priority after another, with
// more sign-ins than it can hash for. Linux, where a priority belongs to a thread, and root, who may raise one again.
import { availableParallelism, platform, setPriority } from 'node:os'
import { openConnection } from '../load/connection.mjs'
import { coreTimes } from '../load/core-time.mjs'
import { runClients } from '../load/loads.mjs'
import { inMilliseconds, median, printTable } from '../load/rounds.mjs'
import { offerChecks, withRaisedPriority } from './saturation.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {import('../subjects/latchkey.mjs').Latchkey} Latchkey */

const clients = 8
const plan = { rounds: 5, seconds: 6 }
const priorities = [0, 5, 10]

/** @type {(latchkey: Latchkey, seconds: number) => ReturnType<typeof runClients>} */
const runSignIns = async ({ port, loginRequest }, seconds) => {
  const connections = Array.from({ length: clients }, () => openConnection(port))
  const step = async (/** @type {number} */ client) =>
    (await connections[client]?.ask(loginRequest(`person-${client}`)))?.status === 200
  const measured = await runClients({ clients, seconds, step })
  for (const connection of connections) connection.close()
  return measured
}

/** The threads that work hardest while people sign in. @type {(latchkey: Latchkey) => Promise<number[]>} */
const hashingThreads = async (latchkey) => {
  const pid = latchkey.pid()
  await runSignIns(latchkey, 1)
  const before = coreTimes(pid)
  await runSignIns(latchkey, 3)
  const worked = [...coreTimes(pid)].map(([thread, time]) => ({ thread, time: time - (before.get(thread) ?? 0) }))
  const busiest = worked.filter(({ thread }) => thread !== pid).sort((one, other) => other.time - one.time)
  return busiest.slice(0, availableParallelism()).map(({ thread }) => thread)
}

/** @param {BenchSetup} setup */
export const measurePriority = async ({ latchkey }) => {
  if (platform() !== 'linux' || process.getuid?.() !== 0) {
    return console.log('\nPriority: left out, because it needs Linux and root.')
  }
  const cookie = await latchkey.signIn('person-0')
  const threads = await hashingThreads(latchkey)
  const results = priorities.map((priority) => ({
    priority,
    rounds: /** @type {{ p50: number, p99: number, logins: number }[]} */ ([]),
  }))
  await withRaisedPriority(async () => {
    for (let round = 0; round < plan.rounds; round += 1) {
      for (const { priority, rounds } of results) {
        for (const thread of threads) setPriority(thread, priority)
        const [checks, logins] = await Promise.all([
          offerChecks(latchkey.port, '/api/auth/verify', cookie, plan.seconds),
          runSignIns(latchkey, plan.seconds),
        ])
        rounds.push({ p50: checks.p50, p99: checks.p99, logins: logins.perSecond })
      }
    }
  })
  printTable(`Priority of the hashing threads: ${plan.rounds} rounds of ${plan.seconds} s, medians`, [
    ['nice', 'access check p50', 'p99', 'least–most p99', 'sign-ins a second'],
    ...results.map(({ priority, rounds }) => {
      const p99s = rounds.map(({ p99 }) => p99)
      return [
        String(priority),
        inMilliseconds(median(rounds.map(({ p50 }) => p50))),
        inMilliseconds(median(p99s)),
        `${inMilliseconds(Math.min(...p99s))}–${inMilliseconds(Math.max(...p99s))}`,
        median(rounds.map(({ logins }) => logins)).toFixed(1),
      ]
    }),
  ])
  return undefined
}
