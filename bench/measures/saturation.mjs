// How long other users wait while more people sign in than the cores can hash passwords for. Their times should not change.
import { getPriority, setPriority } from 'node:os'
import { request } from '../load/connection.mjs'
import { sendAtRate } from '../load/loads.mjs'
import { inMilliseconds, printTable } from '../load/rounds.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {{ port: number, loginRequest: (name: string) => string }} Target */

const offered = { logins: 50, checks: 100, health: 10 }
const quietSeconds = 8
const busySeconds = 20

/**
 * In the real world the clients are on other machines. Here they share the cores with the hashing, and would measure how long
 * they themselves wait for a turn; so they get a higher priority, where the system allows that.
 * @template Result
 * @param {() => Promise<Result>} work
 */
export const withRaisedPriority = async (work) => {
  const usual = getPriority()
  try {
    setPriority(-15)
  } catch {
    console.log(
      '\n(The load generator has no precedence here, so the times below include its own waiting: run it as root.)',
    )
  }
  try {
    return await work()
  } finally {
    setPriority(usual)
  }
}

/** @type {(target: Target, rate: number, seconds: number) => ReturnType<typeof sendAtRate>} */
const offerLogins = ({ port, loginRequest }, rate, seconds) => {
  let sent = 0
  const text = () => {
    sent += 1
    return loginRequest(`person-${sent % 8}`)
  }
  return sendAtRate({ port, rate, seconds, text, succeeds: (status) => status === 200 })
}

/** @type {(port: number, path: string, cookie: string, seconds: number) => ReturnType<typeof sendAtRate>} */
export const offerChecks = (port, path, cookie, seconds) => {
  const text = request('GET', path, { cookie })
  return sendAtRate({
    port,
    rate: offered.checks,
    seconds,
    text: () => text,
    succeeds: (status) => status === 200 || status === 204,
  })
}

/** @type {(port: number, seconds: number) => ReturnType<typeof sendAtRate>} */
const offerHealth = (port, seconds) => {
  const text = request('GET', '/health')
  return sendAtRate({ port, rate: offered.health, seconds, text: () => text, succeeds: (status) => status === 200 })
}

/** @type {(name: string, load: import('../load/loads.mjs').Measured) => string[]} */
const row = (name, { p50, p99, done, failed }) => [
  name,
  inMilliseconds(p50),
  inMilliseconds(p99),
  String(done),
  String(failed),
]

/** @param {BenchSetup} setup */
export const measureSaturation = async ({ latchkey, peers }) => {
  const cookie = await latchkey.signIn('person-0')
  const { port } = latchkey
  const check = (/** @type {number} */ seconds) => offerChecks(port, '/api/auth/verify', cookie, seconds)
  await check(2)
  const rows = [['', 'p50', 'p99', 'succeeded', 'failed']]
  await withRaisedPriority(async () => {
    const [quiet, quietHealth] = await Promise.all([check(quietSeconds), offerHealth(port, quietSeconds)])
    rows.push(
      row(`access checks, before the sign-ins, ${quietSeconds} s`, quiet),
      row(`\`/health\`, before the sign-ins, ${quietSeconds} s`, quietHealth),
    )
    const [busy, busyHealth, logins] = await Promise.all([
      check(busySeconds),
      offerHealth(port, busySeconds),
      offerLogins(latchkey, offered.logins, busySeconds),
    ])
    rows.push(row('access checks, during the sign-ins', busy), row('`/health`, during the sign-ins', busyHealth))
    rows.push(row('sign-ins', logins))
    if (!peers) return
    const { cached } = peers
    const peerCookie = await cached.signIn('person-0')
    const [peerBusy, peerLogins] = await Promise.all([
      offerChecks(cached.port, cached.sessionPath, peerCookie, busySeconds),
      offerLogins(cached, offered.logins, busySeconds),
    ])
    rows.push(row('Better Auth `get-session`, cookie cache, during the sign-ins', peerBusy))
    rows.push(row('Better Auth sign-ins', peerLogins))
  })
  const { logins, checks, health } = offered
  printTable(
    `Saturation: ${logins} sign-ins per second for ${busySeconds} s, with ${checks} access checks and ${health} \`/health\` per second`,
    rows,
  )
}
