import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, cp, mkdir, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { reasonOf } from '../../lib/caught.js'
import { seconds } from '../../lib/durations.js'
import { OperatorError } from '../../lib/operator-error.js'
import { programVersion } from '../version.js'
import {
  closeToOthers,
  clusterMajor,
  databaseName,
  makeCluster,
  type Passwords,
  removeDrafts,
  roles,
} from './cluster.js'
import { isGreeting, readLine, type Welcome, writeLine } from './command-greeting.js'
import {
  connectToHolder,
  DataDirectoryInUse,
  DataDirectoryOfAnotherUser,
  DataDirectoryUnwritable,
  type DirectoryLock,
  type HolderKind,
  lockDirectory,
  NoDatabase,
  requireSafeFolder,
} from './folder-lock.js'
import { type KeptSecret, keptSecret, makeSecret, requireOwnSecrets, secretsFolder } from './kept-secrets.js'
import { type Account, canEnter, findPrograms, isRoot, type Programs, usualAccount } from './programs.js'

import {
  addressOfRunning,
  placeFor,
  type RunningServer,
  type ServerAddress,
  startServer,
  stopOrphan,
} from './server.js'

type Log = Record<'debug' | 'info' | 'warn' | 'error', (details: object, message: string) => void>
type Settings = Readonly<Record<string, string | undefined>>

/** The settings on which the database that is brought along depends. */
export type OwnConfig = {
  dataDir: string
  production: boolean
  postgresBin: string | undefined
  jwtSecret: string[] | undefined
  sealingKey: string[] | undefined
  /** The most connections of all processes together. */
  maxConnections: number
}

/** A PostgreSQL of our own, and what it gives in place of the settings that nobody gave. */
export type OwnPostgres = {
  settings: { databaseUrl: string; databaseOwnerUrl: string; jwtSecret: string[]; sealingKey: string[] }
  close(): Promise<void>
}

export const clusterFolder = (dataDir: string) => resolve(dataDir, 'postgres')

/** A folder that a user other than root can reach, for a root who can make no user namespace. */
const reachableFolder = (dataDir: string) =>
  join('/var/lib/latchkey', createHash('sha256').update(resolve(dataDir)).digest('hex').slice(0, 16))

/** Where commands find the cluster: in DATA_DIR, unless root had to put it where another user can reach it (`accountAndFolder`). */
const placeOfCluster = (dataDir: string) => {
  const [usual, other] = [clusterFolder(dataDir), join(reachableFolder(dataDir), 'postgres')]
  const isThere = (folder: string) => existsSync(join(folder, 'PG_VERSION'))
  return isRoot() && !isThere(usual) && isThere(other) ? other : usual
}

export const hasCluster = async (dataDir: string) => (await clusterMajor(placeOfCluster(dataDir))) !== undefined

class SecretsLost extends OperatorError {
  override name = 'SecretsLost'
}

export class OtherVersionRuns extends OperatorError {
  override name = 'OtherVersionRuns'
  constructor(directory: string, runningVersion: string, ownVersion: string) {
    super(
      `The service that uses ${directory} is version ${runningVersion}, and this command is version ${ownVersion}: restart the service with this version, or stop it first.`,
    )
  }
}

/** With SCRAM the server proves that it knows the password, too: whoever listens in its place gets nothing. */
const urlOf = ({ host, port }: ServerAddress, role: string, password: string) =>
  `postgres://${role}:${password}@${host.startsWith('/') ? encodeURIComponent(host) : `${host}:${port}`}/${databaseName}?require_auth=scram-sha-256`

/**
 * The secrets of the service and its database. They are made before the database, so one without them has lost them. New ones would open
 * nothing that is stored there.
 */
const secretsFor = async ({ dataDir, jwtSecret, sealingKey }: OwnConfig, hasCluster: boolean) => {
  const take = async (name: KeptSecret, setting?: string) => {
    if (!hasCluster) return await makeSecret(dataDir, name)
    const secret = await keptSecret(dataDir, name)
    if (secret !== undefined) return secret
    const advice = setting === undefined ? '' : `, or set ${setting} to what it was`
    throw new SecretsLost(
      `The file ${name} is missing in ${secretsFolder(dataDir)}, and the database beside it needs it: restore the file from a backup${advice}. Nothing was changed.`,
    )
  }
  const passwords: Passwords = { owner: await take('postgres_owner'), service: await take('postgres_service') }
  return {
    passwords,
    jwtSecret: jwtSecret ?? (await take('jwt_secret', 'JWT_SECRET')).split(','),
    sealingKey: sealingKey ?? (await take('sealing_key', 'SEALING_KEY')).split(','),
  }
}

type Secrets = Awaited<ReturnType<typeof secretsFor>>

const settingsWith = (address: ServerAddress, { passwords, jwtSecret, sealingKey }: Secrets) => ({
  databaseUrl: urlOf(address, roles.service, passwords.service),
  databaseOwnerUrl: urlOf(address, roles.owner, passwords.owner),
  jwtSecret,
  sealingKey,
})

/** Who runs PostgreSQL, and where its cluster is. */
const accountAndFolder = async (dataDir: string, log: Log): Promise<{ account: Account; folder: string }> => {
  const account = await usualAccount()
  const folder = clusterFolder(dataDir)
  if (account) return { account, folder }
  const { uid: ownerOfProject, gid: groupOfProject } = await stat(process.cwd())
  const other = ownerOfProject === 0 ? { uid: 65_534, gid: 65_534 } : { uid: ownerOfProject, gid: groupOfProject }
  if (await canEnter(resolve(dataDir), other)) return { account: { prefix: [], ...other }, folder }
  const place = reachableFolder(dataDir)
  await mkdir(place, { recursive: true, mode: 0o711 })
  log.info(
    { folder: place, uid: other.uid },
    'PostgreSQL does not run as root, and another user cannot reach DATA_DIR: its files are in this folder',
  )
  return { account: { prefix: [], ...other }, folder: join(place, 'postgres') }
}

/** The programs, or a copy of them if the account cannot reach them. */
const reachablePrograms = async (
  config: OwnConfig,
  account: Account,
  clusterMajor: number | undefined,
): Promise<Programs> => {
  const search = {
    chosenFolder: config.postgresBin,
    librariesFolder: resolve(config.dataDir, 'libraries'),
    clusterMajor,
  }
  if (account.uid === undefined) return await findPrograms({ ...search, account })
  const reachable = await findPrograms({ ...search, account }).catch(() => undefined)
  if (reachable) return reachable
  const programs = await findPrograms({ ...search, account: { prefix: [] } })
  const copy = join(reachableFolder(config.dataDir), `postgresql-${programs.version}`)
  if (!existsSync(copy)) await cp(dirname(programs.folder), copy, { recursive: true, dereference: true })
  return await findPrograms({ ...search, account, chosenFolder: join(copy, 'bin') })
}

/**
 * What another user has made or may change is not believed: the secrets in it would be theirs. Some platforms give volumes to root and a
 * group.
 */
const ownFolder = async (dataDir: string) => {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new DataDirectoryUnwritable(dataDir, { cause })
  }
  const ownUid = process.getuid?.()
  if (ownUid === undefined) return
  const { uid, mode } = await stat(dataDir)
  if (uid !== ownUid && uid !== 0) throw new DataDirectoryOfAnotherUser(dataDir)
  if ((mode & 0o002) !== 0)
    throw new OperatorError(
      `Every user of this machine may write to ${dataDir}: close it (chmod o-w ${dataDir}), and look whether what is in it is yours.`,
    )
  const cluster = await stat(clusterFolder(dataDir)).catch(() => undefined)
  if (cluster && cluster.uid !== ownUid && !isRoot()) throw new DataDirectoryOfAnotherUser(dataDir)
  await requireOwnSecrets(dataDir)
}

/** Starts PostgreSQL, and starts it again whenever it ends by itself: at once, and then after growing pauses. */
const keepRunning = async (start: () => Promise<RunningServer>, log: Log) => {
  let server = await start()
  const closing = new AbortController()
  const follow = async () => {
    let pause = 0
    for (;;) {
      const startedAt = performance.now()
      const lastLines = (await server.ended).slice(-5)
      if (closing.signal.aborted) return
      if (performance.now() - startedAt > 1 * 60 * seconds) pause = 0
      log.error({ lastLines }, 'PostgreSQL has ended by itself, and is started again')
      for (let isStarted = false; !isStarted; ) {
        await wait(pause, undefined, { signal: closing.signal }).catch(() => undefined)
        if (closing.signal.aborted) return
        pause = Math.min(30 * seconds, Math.max(0.5 * seconds, 2 * pause))
        try {
          server = await start()
          if (closing.signal.aborted) return await server.stop()
          isStarted = true
        } catch (error) {
          log.error({ reason: reasonOf(error) }, 'PostgreSQL does not start; trying again')
        }
      }
      log.info({}, 'PostgreSQL runs again')
    }
  }
  const following = follow()
  return {
    stop: async () => {
      closing.abort()
      await server.stop()
      await following
    },
  }
}

const troubling = /PANIC|was terminated by signal|No space left|could not (?:write|fsync|read)|invalid page|checksum/

type OpenOptions = { config: OwnConfig; log: Log; lock: DirectoryLock }

const openLocked = async ({ config, log, lock }: OpenOptions) => {
  const { dataDir, maxConnections } = config
  const { account, folder } = await accountAndFolder(dataDir, log)
  await removeDrafts(folder)
  const major = await clusterMajor(folder)
  const secrets = await secretsFor(config, major !== undefined)
  const programs = await reachablePrograms(config, account, major)
  const { holdsSockets } = lock
  if (major === undefined) {
    await makeCluster({ programs, account, folder, holdsSockets, passwords: secrets.passwords })
    log.info({ postgres: programs.version }, `made a new database in ${resolve(dataDir)}`)
  }
  await closeToOthers(folder)
  if (account.uid !== undefined && account.gid !== undefined) await chown(folder, account.uid, account.gid)
  if (await stopOrphan(folder)) log.warn({}, 'a PostgreSQL that a killed service had left was stopped')
  const place = await placeFor(folder, holdsSockets)
  const onLine = (line: string) =>
    troubling.test(line) ? log.warn({ line }, 'PostgreSQL says') : log.debug({ line }, 'PostgreSQL says')
  const server = await keepRunning(() => startServer({ programs, account, folder, place, maxConnections, onLine }), log)
  return {
    settings: settingsWith(place.address, secrets),
    stop: async () => {
      await server.stop()
      await place.remove()
    },
  }
}

const openAs = async (
  kind: HolderKind,
  config: OwnConfig,
  log: Log,
  settingsForCommands?: Settings,
): Promise<OwnPostgres> => {
  await ownFolder(config.dataDir)
  const lock = await lockDirectory(clusterFolder(config.dataDir), kind)
  try {
    const { settings, stop } = await openLocked({ config, log, lock })
    if (settingsForCommands) lock.admit(greetCommands(settingsForCommands))
    return {
      settings,
      close: async () => {
        await stop()
        await lock.release()
      },
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

const mostCommands = 64

/** Gives each command the settings of this service. */
const greetCommands = (settings: Settings) => {
  const sockets = new Set<Socket>()
  const greet = async (socket: Socket) => {
    const hello = await readLine(socket)
    if (!isGreeting(hello)) return
    const version = programVersion()
    writeLine(socket, { version, ...(hello.version === version && { settings }) })
  }
  return (socket: Socket) => {
    if (sockets.size >= mostCommands) return void socket.end()
    sockets.add(socket)
    const done = () => {
      sockets.delete(socket)
      socket.end()
    }
    greet(socket).then(done, done)
    return undefined
  }
}

const greetService = async (socket: Socket, dataDir: string): Promise<Welcome | undefined> => {
  const version = programVersion()
  writeLine(socket, { version })
  const welcome = await readLine(socket)
  socket.destroy()
  if (!isGreeting(welcome)) return undefined
  if (welcome.version !== version) throw new OtherVersionRuns(dataDir, welcome.version, version)
  return welcome
}

/** How long to wait for a service that is starting, or for another command. Both hold the folder and let nobody in. */
const turnOfCommand = 10 * seconds
const turnOfService = 60 * seconds
const pauseMs = 100

const inTurn = async <Result>(
  limit: number,
  attempt: () => Promise<Result>,
  isWorthWaiting: (inUse: DataDirectoryInUse) => boolean,
) => {
  const giveUpAt = performance.now() + limit
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof DataDirectoryInUse) || !isWorthWaiting(error) || performance.now() > giveUpAt) throw error
      await wait(pauseMs)
    }
  }
}

type ServiceOptions = {
  config: OwnConfig
  log: Log
  /** The settings of the service. Commands beside it work with the same ones. */
  settingsForCommands?: Settings | undefined
}

/** Opens the database that is brought along for a service. If a command has it open, the service waits for its end. */
export const openForService = async ({ config, log, settingsForCommands }: ServiceOptions): Promise<OwnPostgres> => {
  if (config.production) await requireSafeFolder(resolve(config.dataDir))
  let isLogged = false
  return await inTurn(
    turnOfService,
    () => openAs('service', config, log, settingsForCommands),
    ({ holder }) => {
      if (holder?.kind !== 'command') return false
      if (!isLogged) log.info({ pid: holder.pid }, 'a command uses the data directory: waiting until it has ended')
      isLogged = true
      return true
    },
  )
}

/** The settings of the service that has the database in this folder open. They are undefined if no service runs. */
export const settingsOfService = async (dataDir: string): Promise<Settings | undefined> => {
  becomeOwner(dataDir, await stat(dataDir).catch(() => undefined))
  const giveUpAt = performance.now() + turnOfCommand
  do {
    const socket = await connectToHolder(clusterFolder(dataDir))
    if (!socket) return undefined
    const welcome = await greetService(socket, dataDir)
    if (welcome?.settings) return welcome.settings
    await wait(pauseMs)
  } while (performance.now() < giveUpAt)
  return undefined
}

/** A command of root works as the owner of the folder, so that it leaves no file there that the service cannot read. */
const becomeOwner = (dataDir: string, owner: { uid: number; gid: number } | undefined) => {
  if (!isRoot() || !owner || owner.uid === 0 || !process.setuid || !process.setgid || !process.setgroups) return
  try {
    process.setgroups([owner.gid])
    process.setgid(owner.gid)
    process.setuid(owner.uid)
  } catch (cause) {
    throw new OperatorError(`${dataDir} belongs to the user number ${owner.uid}: run this as that user.`, { cause })
  }
}

/** Uses the database beside the service that has it open. */
const beside = async (config: OwnConfig): Promise<OwnPostgres | undefined> => {
  const running = await addressOfRunning(placeOfCluster(config.dataDir))
  if (!running) return undefined
  return { settings: settingsWith(running.address, await secretsFor(config, true)), close: running.remove }
}

/** The database of a running service; undefined if none runs. It starts and changes nothing. */
export const openBesideService = async (config: OwnConfig): Promise<OwnPostgres | undefined> =>
  (await settingsOfService(config.dataDir)) && (await beside(config))

type CommandOptions = {
  config: OwnConfig
  log: Log
  /** Whether a missing database may be made. Otherwise a command in a wrong folder would work on a new, empty database. */
  mayCreate?: boolean
}

/**
 * Opens the database that is brought along for a command: beside the running service, or by itself if no service runs. If several commands
 * start together, each waits for its turn.
 */
export const openForCommand = ({ config, log, mayCreate = false }: CommandOptions): Promise<OwnPostgres> =>
  inTurn(
    turnOfCommand,
    async () => {
      const { dataDir } = config
      const ofService = await openBesideService(config)
      if (ofService) return ofService
      if (!mayCreate && !(await hasCluster(dataDir))) throw new NoDatabase(resolve(dataDir))
      try {
        return await openAs('command', config, log)
      } catch (error) {
        // Where the file system holds no sockets, the service does not answer commands, and its PostgreSQL does.
        const isService = error instanceof DataDirectoryInUse && error.holder?.kind === 'service'
        const opened = isService && !error.holder?.isSilent ? await beside(config) : undefined
        if (opened) return opened
        throw error
      }
    },
    () => true,
  )
