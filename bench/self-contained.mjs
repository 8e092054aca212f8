// node bench/self-contained.mjs [--rounds 7] [--rest 20]
//
// What servers of one's own change: the built program alone, with the PostgreSQL that it brings along and the counters in it, and the
// same program with a PostgreSQL and a Redis beside it. Both are set up as in production, with the same version of PostgreSQL, which
// waits for the disk. Sign-ins (bcrypt at cost 10, in a known browser), refreshes and access checks a second, in turns, and the
// processor time of all processes for one answer; then the memory of all processes: at rest (--rest seconds after a start, which
// nobody has used yet) and at rest after the load. docs/scale.md has the numbers. Takes about three minutes.
//
// Needs Linux, a build (npm run build) and a user other than root: production refuses root. In a container, TMPDIR must be a mount of its
// own. It starts its own PostgreSQL and Redis, like the tests, and stops and removes everything that it started.
import { availableParallelism, cpus, loadavg } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { megabytesOf, withCoreTimeOfAll } from './load/process-tree.mjs'
import { compareInRounds, printRows, printTable } from './load/rounds.mjs'
import { flood } from './load/wrk.mjs'
import { onKnownDevices, signInLoad } from './measures/login.mjs'
import { refreshLoad, signInAll } from './measures/refresh.mjs'
import { cost, production, startLatchkey } from './subjects/latchkey.mjs'
import { openStores } from './subjects/stores.mjs'

/** @typedef {import('./subjects/latchkey.mjs').Latchkey} Latchkey */
/** `others` are the servers beside the service. @typedef {{ name: string, latchkey: Latchkey, others: readonly number[] }} Subject */

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '7' }, rest: { type: 'string', default: '20' } },
})
const rounds = Number(values.rounds)
const restMs = Number(values.rest) * 1_000
const clients = 32

/** @param {Subject} subject */
const pidsOf = ({ latchkey, others }) => [latchkey.pid(), ...others]

/** The memory of each, after a while without requests. @param {Subject[]} subjects */
const memoryAtRest = async (subjects) => {
  await wait(restMs)
  return subjects.map((subject) => `${megabytesOf(pidsOf(subject)).toFixed(0)} MB`)
}

/** @type {(title: string, seconds: number, subjects: Subject[], loads: ((seconds: number) => Promise<{ perSecond: number }>)[]) => Promise<void>} */
const compare = async (title, seconds, subjects, loads) => {
  const candidates = subjects.map((subject, place) => ({
    name: subject.name,
    runLoad: withCoreTimeOfAll(
      () => pidsOf(subject),
      async (time) => {
        const run = loads[place]
        if (!run) throw new Error(`There is no load for ${subject.name}`)
        return await run(time)
      },
    ),
  }))
  printRows(
    `${title}, ${rounds} rounds of ${seconds} s, medians`,
    await compareInRounds(candidates, { rounds, seconds }),
  )
}

/** @param {Subject[]} subjects */
const measure = async (subjects) => {
  const unused = await memoryAtRest(subjects)
  const known = await Promise.all(subjects.map(({ latchkey }) => onKnownDevices(latchkey)))
  await compare(`Sign-in: cost ${cost}, 8 clients`, 4, subjects, known.map(signInLoad))

  const refreshes = await Promise.all(
    subjects.map(async ({ latchkey }) => refreshLoad(latchkey, await signInAll(latchkey.people, latchkey.signIn))),
  )
  await compare(
    `Refresh: ${clients} clients`,
    3,
    subjects,
    refreshes.map(({ runLoad }) => runLoad),
  )
  for (const { close } of refreshes) close()

  const checks = await Promise.all(
    subjects.map(async ({ latchkey }) => {
      const cookie = await latchkey.signIn('person-0')
      const what = { port: latchkey.port, path: '/api/auth/verify', cookie, connections: clients }
      return (/** @type {number} */ seconds) => flood({ ...what, seconds })
    }),
  )
  await compare(`Access check: ${clients} connections`, 2, subjects, checks)

  const used = await memoryAtRest(subjects)
  printTable('Memory of all processes, PostgreSQL and Redis included', [
    ['', 'started, unused', 'after the load'],
    ...subjects.map(({ name }, place) => [name, unused[place] ?? '', used[place] ?? '']),
  ])
}

if (process.getuid?.() === 0) throw new Error('Start this as a user other than root: production refuses root.')
const stores = await openStores({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
if (!stores?.pids) throw new Error('A PostgreSQL and a Redis that this program starts itself are needed.')
const load = () => loadavg()[0]?.toFixed(1)
const machine = `${availableParallelism()} cores (${cpus()[0]?.model ?? 'of an unknown kind'}), Node ${process.version}`
console.log(`${machine}, load average ${load()}`)
/** @type {Subject[]} */
const subjects = []
try {
  const databaseUrl = await stores.database()
  const withServers = await startLatchkey({ databaseUrl, redisUrl: stores.redisUrl })
  subjects.push({ name: 'PostgreSQL and Redis beside it', latchkey: withServers, others: stores.pids })
  const alone = await startLatchkey(undefined, 1, production)
  subjects.push({ name: 'the program alone', latchkey: alone, others: [] })
  await measure(subjects)
  console.log(`\nLoad average ${load()} at the end.`)
} finally {
  for (const { latchkey } of subjects) await latchkey.stop()
  await stores.close()
}
