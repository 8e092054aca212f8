// What other users notice while more people sign in than the cores can hash for: nothing, it should be.
import { getPriority, setPriority } from 'node:os'
import { request } from '../load/connection.mjs'
import { offeredLoad } from '../load/loads.mjs'
import { inMilliseconds, printTable } from '../load/rounds.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */
/** @typedef {{ port: number, login: (name: string) => string }} Target */

const offered = { logins: 50, checks: 100, health: 10 }
const quietSeconds = 8
const busySeconds = 20

/**
 * In the real world the clients are on other machines. Here they share the cores with the hashing, and would measure how long
 * they themselves wait for a turn; so they get a higher priority, where the system allows that.
 * @template Result
 * @param {() => Promise<Result>} work
 */
export const ahead = async (work) => {
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

/** @type {(target: Target, rate: number, seconds: number) => ReturnType<typeof offeredLoad>} */
const offerLogins = ({ port, login }, rate, seconds) => {
  let turn = 0
  const text = () => {
    turn += 1
    return login(`person-${turn % 8}`)
  }
  return offeredLoad({ port, rate, seconds, text, succeeds: (status) => status === 200 })
}

/** @type {(port: number, path: string, cookie: string, seconds: number) => ReturnType<typeof offeredLoad>} */
export const offerChecks = (port, path, cookie, seconds) => {
  const text = request('GET', path, { cookie })
  return offeredLoad({
    port,
    rate: offered.checks,
    seconds,
    text: () => text,
    succeeds: (status) => status === 200 || status === 204,
  })
}

/** @type {(port: number, seconds: number) => ReturnType<typeof offeredLoad>} */
const offerHealth = (port, seconds) => {
  const text = request('GET', '/health')
  return offeredLoad({ port, rate: offered.health, seconds, text: () => text, succeeds: (status) => status === 200 })
}

/** @type {(name: string, load: import('../load/loads.mjs').Measured) => string[]} */
const row = (name, { p50, p99, done, failed }) => [
  name,
  inMilliseconds(p50),
  inMilliseconds(p99),
  String(done),
  String(failed),
]

/** @param {Stage} stage */
export const measureSaturation = async ({ latchkey, peers }) => {
  const cookie = await latchkey.signIn('person-0')
  const { port } = latchkey
  const check = (/** @type {number} */ seconds) => offerChecks(port, '/api/auth/verify', cookie, seconds)
  await check(2)
  const rows = [['', 'p50', 'p99', 'answered', 'refused']]
  await ahead(async () => {
    const [quiet, quietHealth] = await Promise.all([check(quietSeconds), offerHealth(port, quietSeconds)])
    rows.push(row('access checks, no sign-ins', quiet), row('`/health`, no sign-ins', quietHealth))
    const [busy, busyHealth, logins] = await Promise.all([
      check(busySeconds),
      offerHealth(port, busySeconds),
      offerLogins(latchkey, offered.logins, busySeconds),
    ])
    rows.push(row('access checks meanwhile', busy), row('`/health` meanwhile', busyHealth))
    rows.push(row('the sign-ins themselves', logins))
    if (!peers) return
    const { cached } = peers
    const peerCookie = await cached.signIn('person-0')
    const [peerBusy, peerLogins] = await Promise.all([
      offerChecks(cached.port, cached.sessionPath, peerCookie, busySeconds),
      offerLogins(cached, offered.logins, busySeconds),
    ])
    rows.push(row('Better Auth: `get-session` with cookie cache meanwhile', peerBusy))
    rows.push(row('Better Auth: the sign-ins themselves', peerLogins))
  })
  const { logins, checks, health } = offered
  printTable(
    `Saturation: ${logins} sign-ins a second offered for ${busySeconds} s, with ${checks} access checks and ${health} \`/health\` a second`,
    rows,
  )
}
