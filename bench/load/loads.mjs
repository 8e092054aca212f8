// Two ways to load a server. Clients that wait for each answer before the next request show how much the server can do. A
// fixed rate of requests shows how long users have to wait.
import { openConnection } from './connection.mjs'

/** @typedef {ReturnType<typeof openConnection>} Connection */
/** @typedef {{ perSecond: number, p50: number, p99: number, done: number, failed: number }} Measured */

/** @type {(sorted: Float64Array, share: number) => number} */
const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

/** @type {(times: number[], failed: number, seconds: number) => Measured} */
const summary = (times, failed, seconds) => {
  const sorted = Float64Array.from(times).sort()
  const p50 = percentile(sorted, 0.5)
  const p99 = percentile(sorted, 0.99)
  return { perSecond: sorted.length / seconds, p50, p99, done: sorted.length, failed }
}

/**
 * Each client takes one step after another until the time is over. A step says whether it succeeded.
 * @param {{ clients: number, seconds: number, step: (client: number) => Promise<boolean> }} load
 * @returns {Promise<Measured>}
 */
export const runClients = async ({ clients, seconds, step }) => {
  /** @type {number[]} */
  const times = []
  let failed = 0
  const begun = performance.now()
  const end = begun + seconds * 1000
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      for (let start = performance.now(); start < end; start = performance.now()) {
        if (await step(client)) times.push(performance.now() - start)
        else failed += 1
      }
    }),
  )
  return summary(times, failed, (performance.now() - begun) / 1000)
}

/**
 * Sends a request at each moment of a fixed rate, on as many connections as that takes. Times count from the moment when
 * a request was due, so that the times also show when the server stops answering.
 * @param {{ port: number, rate: number, seconds: number, text: () => string, succeeds: (status: number) => boolean }} load
 * @returns {Promise<Measured>}
 */
export const sendAtRate = async ({ port, rate, seconds, text, succeeds }) => {
  /** @type {Connection[]} */
  const connections = []
  /** @type {Connection[]} */
  const idle = []
  /** @type {number[]} */
  const times = []
  /** @type {Promise<void>[]} */
  const sending = []
  let failed = 0

  const take = () => {
    const connection = idle.pop() ?? openConnection(port)
    if (!connections.includes(connection)) connections.push(connection)
    return connection
  }
  const send = async (/** @type {number} */ due) => {
    const connection = take()
    const status = await connection.ask(text()).then(
      (answer) => answer.status,
      () => 0,
    )
    if (succeeds(status)) times.push(performance.now() - due)
    else failed += 1
    idle.push(connection)
  }

  const begun = performance.now()
  for (let sent = 0; sent < rate * seconds; sent += 1) {
    const due = begun + (sent * 1000) / rate
    const delay = due - performance.now()
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
    sending.push(send(due))
  }
  await Promise.all(sending)
  const took = (performance.now() - begun) / 1000
  for (const connection of connections) connection.close()
  return summary(times, failed, took)
}
