import type { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { OperatorError } from '../../lib/operator-error.js'
import { programVersion } from '../version.js'
import { isGreeting, readLine, type Welcome, writeLine } from './command-greeting.js'
import { openConnection } from './connection.js'
import { type Database, StoreUnavailable } from './database.js'
import { connectToHolder } from './directory-lock.js'
import { createPool } from './embedded-pool.js'
import type { Open } from './opening-connections.js'
import { createPooledDatabase } from './transactions.js'

export class OtherVersionRuns extends OperatorError {
  override name = 'OtherVersionRuns'
  constructor(directory: string, runningVersion: string, ownVersion: string) {
    super(
      `The service that uses ${directory} is version ${runningVersion}, and this command is version ${ownVersion}: restart the service with this version, or stop it first.`,
    )
  }
}

class TooManyCommands extends OperatorError {
  override name = 'TooManyCommands'
  constructor(directory: string, places: number) {
    super(`${places} commands use the database in ${directory} already: try again when one of them has ended.`)
  }
}

/** Longer than the service waits for a statement, because the statements of other commands may come first. */
const deadlineMs = 120_000
const closeGraceMs = 5_000

const greet = async (socket: Socket, directory: string): Promise<Welcome | undefined> => {
  const version = programVersion()
  writeLine(socket, { version })
  const welcome = await readLine(socket)
  if (isGreeting(welcome) && welcome.version === version) return welcome
  socket.destroy()
  if (isGreeting(welcome)) throw new OtherVersionRuns(directory, welcome.version, version)
  return undefined
}

/** How long to wait for a service that is starting or for another command. Both hold the directory and do not let others in. */
export const longestWaitMs = 10_000
export const pauseMs = 200

const connect = async (directory: string) => {
  const startedAt = performance.now()
  let allPlaces: number | undefined
  do {
    const socket = await connectToHolder(directory)
    if (!socket) return undefined
    const welcome = await greet(socket, directory)
    if (welcome?.settings) return { socket, settings: welcome.settings }
    allPlaces = welcome?.allPlaces
    socket.destroy()
    await wait(pauseMs)
  } while (performance.now() - startedAt < longestWaitMs)
  if (allPlaces !== undefined) throw new TooManyCommands(directory, allPlaces)
  return undefined
}

/** The settings of the service that has the database in this directory open. They are undefined if no service runs. */
export const settingsOfService = async (directory: string) => {
  const connection = await connect(directory)
  connection?.socket.destroy()
  return connection?.settings
}

const createOpen =
  (directory: string): Open =>
  async (onClosed) => {
    const connection = await connect(directory)
    if (!connection)
      throw new StoreUnavailable('The service that has the database open has ended: run the command again.')
    const { socket } = connection
    // The driver calls `connect` on its stream. This socket is connected already, so `connect` only reports that.
    const begin = () => {
      socket.emit('connect')
      socket.resume()
    }
    const stream = Object.assign(socket, { connect: () => process.nextTick(begin) })
    const client = { stream: () => stream, host: 'embedded', user: 'postgres', password: () => '', ssl: false }
    const opened = await openConnection({ client, deadlineMs })
    opened.onClosed = (isHung) => onClosed(opened, isHung)
    return opened
  }

/** Opens the embedded database through the running service, for a command. */
export const createPgliteClient = (directory: string): Database => {
  const pool = createPool({
    open: createOpen(directory),
    size: 1,
    waitingLimit: 1_000,
    waitMs: deadlineMs,
    noAnswerText: 'The service that has the database open does not answer',
    idleMs: Number.POSITIVE_INFINITY,
    lifetimeMs: Number.POSITIVE_INFINITY,
  })
  const database = createPooledDatabase({ pool, idleInTransactionMs: deadlineMs, closeGraceMs })
  return { ...database, isMigratedByService: true }
}
