// How many people can sign in in a second, against what bcrypt alone can do on the same cores.
import { askOnce, cookiesOf, openConnection, request } from '../load/connection.mjs'
import { closedLoad } from '../load/loads.mjs'
import { inRounds, printRows } from '../load/rounds.mjs'
import { cost, password } from '../subjects/latchkey.mjs'
import { startRawBcrypt } from '../subjects/raw-bcrypt.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */
/** @typedef {{ port: number, login: (name: string) => string }} Target */

const clients = 8
const plan = { rounds: 5, seconds: 4 }

/** @param {Target} target */
const createTurn =
  ({ port, login }) =>
  async (/** @type {number} */ seconds) => {
    const connections = Array.from({ length: clients }, () => openConnection(port))
    const step = async (/** @type {number} */ client) => {
      const answer = await connections[client]?.ask(login(`person-${client}`))
      if (answer?.status !== 200) throw new Error(`A sign-in ended with ${answer?.status}: ${answer?.body}`)
      return true
    }
    try {
      return await closedLoad({ clients, seconds, step })
    } finally {
      for (const connection of connections) connection.close()
    }
  }

/** Users whose browsers are known from an earlier sign-in: no mail is queued. @param {Stage['latchkey']} latchkey @returns {Promise<Target>} */
const onKnownDevices = async ({ port, login }) => {
  /** @type {Map<string, string>} */
  const cookies = new Map()
  for (let client = 0; client < clients; client += 1) {
    const username = `person-${client}`
    cookies.set(username, /[^ ;]*known_device=[^;]*/.exec(cookiesOf(await askOnce(port, login(username))))?.[0] ?? '')
  }
  const again = (/** @type {string} */ username) =>
    request('POST', '/api/auth/login', { cookie: cookies.get(username), body: { username, password } })
  return { port, login: again }
}

/** @param {Stage} stage */
export const measureLogin = async ({ latchkey, peers }) => {
  const raw = await startRawBcrypt({ password, cost })
  const subjects = [
    { name: `limit: bcrypt alone in ${raw.threads} threads`, turn: raw.turn },
    { name: 'Latchkey `POST /login`, a new device', turn: createTurn(latchkey) },
    { name: 'Latchkey `POST /login`, a known device', turn: createTurn(await onKnownDevices(latchkey)) },
    ...(peers ? [{ name: 'Better Auth `sign-in/email`', turn: createTurn(peers.plain) }] : []),
  ]
  try {
    const title = `Sign-in: cost ${cost}, ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await inRounds(subjects, plan))
  } finally {
    await raw.stop()
  }
}
