// How many people can sign in per second, against what bcrypt alone can do on the same cores: by the library, and by the service's own steps.
import { askOnce, cookiesOf, openConnection, request } from '../load/connection.mjs'
import { runClients } from '../load/loads.mjs'
import { compareInRounds, printRows } from '../load/rounds.mjs'
import { cost, password } from '../subjects/latchkey.mjs'
import { startRawBcrypt } from '../subjects/raw-bcrypt.mjs'

/** @typedef {import('../run.mjs').BenchSetup} BenchSetup */
/** @typedef {{ port: number, loginRequest: (name: string) => string }} Target */

const clients = 8
const plan = { rounds: 5, seconds: 4 }

/** @param {Target} target */
export const signInLoad =
  ({ port, loginRequest }) =>
  async (/** @type {number} */ seconds) => {
    const connections = Array.from({ length: clients }, () => openConnection(port))
    const step = async (/** @type {number} */ client) => {
      const answer = await connections[client]?.ask(loginRequest(`person-${client}`))
      if (answer?.status !== 200) throw new Error(`A sign-in ended with ${answer?.status}: ${answer?.body}`)
      return true
    }
    try {
      return await runClients({ clients, seconds, step })
    } finally {
      for (const connection of connections) connection.close()
    }
  }

/** Users whose browsers are known from an earlier sign-in: no mail is queued. @param {Target} latchkey @returns {Promise<Target>} */
export const onKnownDevices = async ({ port, loginRequest }) => {
  /** @type {Map<string, string>} */
  const cookies = new Map()
  for (let client = 0; client < clients; client += 1) {
    const username = `person-${client}`
    const answer = await askOnce(port, loginRequest(username))
    const [cookie] = /[^ ;]*known_device=[^;]*/.exec(cookiesOf(answer)) ?? []
    if (!cookie) throw new Error('The sign-in set no known_device cookie')
    cookies.set(username, cookie)
  }
  const knownDeviceLogin = (/** @type {string} */ username) =>
    request('POST', '/api/auth/login', { cookie: cookies.get(username), body: { username, password } })
  return { port, loginRequest: knownDeviceLogin }
}

/** @param {BenchSetup} setup */
export const measureLogin = async ({ latchkey, peers }) => {
  const raw = await startRawBcrypt({ password, cost })
  const candidates = [
    { name: `bcrypt alone in ${raw.threads} threads, one after the other`, runLoad: raw.runOneByOne },
    { name: 'bcrypt alone, three at once', runLoad: raw.runTogether },
    { name: 'Latchkey `POST /login`, a new device', runLoad: signInLoad(latchkey) },
    { name: 'Latchkey `POST /login`, a known device', runLoad: signInLoad(await onKnownDevices(latchkey)) },
    ...(peers ? [{ name: 'Better Auth `sign-in/email`', runLoad: signInLoad(peers.plain) }] : []),
  ]
  try {
    const title = `Sign-in: cost ${cost}, ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await compareInRounds(candidates, plan))
  } finally {
    await raw.stop()
  }
}
