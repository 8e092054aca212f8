// How many people can sign in in a second, against what bcrypt alone can do on the same cores.
import { openConnection } from '../load/connection.mjs'
import { closedLoad } from '../load/loads.mjs'
import { inRounds, printRows } from '../load/rounds.mjs'
import { cost, password } from '../subjects/latchkey.mjs'
import { startRawBcrypt } from '../subjects/raw-bcrypt.mjs'

/** @typedef {import('../run.mjs').Stage} Stage */
/** @typedef {{ port: number, login: (name: string) => string }} Target */

const clients = 8
const plan = { rounds: 5, seconds: 6 }

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

/** @param {Stage} stage */
export const measureLogin = async ({ latchkey, peers }) => {
  const raw = await startRawBcrypt({ password, cost })
  const subjects = [
    { name: `limit: bcrypt alone in ${raw.threads} threads`, turn: raw.turn },
    { name: 'Latchkey `POST /login`', turn: createTurn(latchkey) },
    ...(peers ? [{ name: 'Better Auth `sign-in/email`', turn: createTurn(peers.plain) }] : []),
  ]
  try {
    const title = `Sign-in: cost ${cost}, ${clients} clients, ${plan.rounds} rounds of ${plan.seconds} s, medians`
    printRows(title, await inRounds(subjects, plan))
  } finally {
    await raw.stop()
  }
}
