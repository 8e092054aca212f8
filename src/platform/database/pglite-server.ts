import type { Socket } from 'node:net'
import { programVersion } from '../version.js'
import { isGreeting, readLine, type Welcome, writeLine } from './command-greeting.js'
import { startupGreeting, terminateMessage, transactionTooLong } from './pglite-pipe.js'
import { createRunTurn, type TurnParts } from './pglite-turns.js'
import { readBatches } from './protocol-batches.js'

type Dependencies = TurnParts & { settings: Readonly<Record<string, string | undefined>> }

const maxCommands = 32
/** This includes commands that are refused because there is no place, and those that have sent nothing yet. */
const maxSockets = 2 * maxCommands

const send = (socket: Socket, bytes: Buffer) =>
  new Promise<void>((resolve, reject) => {
    socket.write(bytes, (error) => (error ? reject(error) : resolve()))
  })

/** Answers the greeting of a command. Returns true if the command has this version and was offered settings, so it can be served. */
const greet = async (socket: Socket, offer: () => Omit<Welcome, 'version'> | undefined) => {
  const hello = await readLine(socket)
  const welcome = offer()
  if (!isGreeting(hello) || !welcome) return false
  const version = programVersion()
  const isSameVersion = hello.version === version
  writeLine(socket, { version, ...(isSameVersion && welcome) })
  return isSameVersion && welcome.settings !== undefined
}

/** Returns a function that reads the next statement of the command, or resolves to undefined when the command has ended. */
const readStatements = (socket: Socket) => {
  const batches = readBatches(socket)
  return async () => {
    const { value: batch } = await batches.next()
    return batch?.[0] === terminateMessage ? undefined : batch
  }
}

/** A command that sends nothing for `longestMs` is disconnected. It connects again when it continues. */
const createIdleCommands = (longestMs: number) => {
  const sockets = new Set<Socket>()
  return {
    during: async <Next>(socket: Socket, next: Promise<Next>) => {
      const timer = setTimeout(() => socket.destroy(), longestMs)
      sockets.add(socket)
      try {
        return await next
      } finally {
        clearTimeout(timer)
        sockets.delete(socket)
      }
    },
    end: () => {
      for (const socket of sockets) socket.end()
    },
  }
}

/**
 * Lets commands on this machine use the embedded database while the service has it open. A command speaks PostgreSQL's protocol
 * over the socket of the directory's lock, and gets the one connection for a statement or a transaction at a time.
 */
export const createPgliteServer = ({ settings, ...parts }: Dependencies) => {
  const runTurn = createRunTurn(parts)
  const commands = new Map<Socket, Promise<void>>()
  const idle = createIdleCommands(2 * parts.statementTimeoutMs)
  let isClosing = false

  const offer = () => {
    if (isClosing) return undefined
    return commands.size > maxCommands ? { allPlaces: maxCommands } : { settings }
  }

  const serveStatements = async (socket: Socket) => {
    const read = readStatements(socket)
    const sendAndRead = (answer: Buffer) => send(socket, answer).then(read)
    await idle.during(socket, read())
    let answer: Buffer | undefined = startupGreeting
    while (answer && !isClosing) {
      const batch = await idle.during(socket, sendAndRead(answer))
      if (!batch) return
      answer = await runTurn(batch, sendAndRead)
    }
    await send(socket, answer ?? transactionTooLong)
  }

  const serveOne = async (socket: Socket) => {
    try {
      if (await greet(socket, offer)) await serveStatements(socket)
    } catch {
      // The command has ended, or the database has failed. In both cases the connection is closed.
    } finally {
      commands.delete(socket)
      socket.end()
    }
  }

  return {
    serve: (socket: Socket) => {
      if (isClosing || commands.size >= maxSockets) socket.end()
      else commands.set(socket, serveOne(socket))
    },
    /** Refuses further statements. A running transaction may still finish, and its command learns that it was committed. */
    refuseMore: () => {
      isClosing = true
      idle.end()
    },
    close: async () => {
      const serving = [...commands.values()]
      for (const socket of commands.keys()) socket.destroy()
      await Promise.all(serving)
    },
  }
}
