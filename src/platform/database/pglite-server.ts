import type { Socket } from 'node:net'
import { programVersion } from '../version.js'
import { isHello, readLine, writeLine } from './command-greeting.js'
import { startupGreeting, terminateMessage } from './pglite-pipe.js'
import { createTurns, type TurnParts } from './pglite-turns.js'
import { readBatches } from './protocol-batches.js'

type Dependencies = TurnParts & { settings: Readonly<Record<string, string | undefined>> }

const mostCommands = 32

const send = (socket: Socket, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  })

/** What the command asks next; undefined at its end. */
const readStatements = (socket: Socket) => {
  const batches = readBatches(socket)
  return async () => {
    const { value: batch } = await batches.next()
    return batch?.[0] === terminateMessage ? undefined : batch
  }
}

/**
 * Lets commands on this machine use the embedded database while the service has it open. A command speaks PostgreSQL's protocol
 * over the socket of the directory's lock, and gets the one connection for a statement or a transaction at a time.
 */
export const createPgliteServer = ({ settings, ...parts }: Dependencies) => {
  const runTurn = createTurns(parts)
  const commands = new Map<Socket, Promise<void>>()
  const idle = new Set<Socket>()
  let isClosing = false

  const greet = async (socket: Socket) => {
    const hello = await readLine(socket)
    if (!isHello(hello) || isClosing) return false
    const version = programVersion()
    const isSame = hello.version === version
    writeLine(socket, { version, ...(isSame && { settings }) })
    return isSame
  }

  const serveStatements = async (socket: Socket) => {
    const read = readStatements(socket)
    const goOn = (answer: Buffer) => send(socket, answer).then(read)
    await read()
    let answer: Buffer | undefined = startupGreeting
    while (answer && !isClosing) {
      idle.add(socket)
      const batch = await goOn(answer)
      idle.delete(socket)
      answer = batch && (await runTurn(batch, goOn))
    }
    if (answer) await send(socket, answer)
  }

  const serveOne = async (socket: Socket) => {
    try {
      if (await greet(socket)) await serveStatements(socket)
    } catch {
      // The command has gone, or the database has failed: the command sees that its connection ends.
    } finally {
      idle.delete(socket)
      commands.delete(socket)
      socket.end()
    }
  }

  return {
    serve: (socket: Socket) => {
      if (isClosing || commands.size >= mostCommands) socket.end()
      else commands.set(socket, serveOne(socket))
    },
    /** A transaction under way may still finish, and its command learns that it was committed. */
    refuseMore: () => {
      isClosing = true
      for (const socket of idle) socket.end()
    },
    close: async () => {
      const served = [...commands.values()]
      for (const socket of commands.keys()) socket.destroy()
      await Promise.all(served)
    },
  }
}
