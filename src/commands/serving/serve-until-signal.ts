import cluster from 'node:cluster'
import { resolve } from 'node:path'
import { secondsText, shutdownBudget } from '../../app/serving.js'
import { type App, startApp } from '../../app.js'
import { protections } from '../../config/connections.js'
import { warnOfOriginsWithoutCookies } from '../../config/sibling-hosts.js'
import { type Config, type Environment, likelyTypos } from '../../config.js'
import { createLog, type Log } from '../../platform/log.js'
import { programVersion } from '../../platform/version.js'
import { readyMessage, reloadMessage, shutDownMessage } from './process-messages.js'
import { type OnSignals, onSignals } from './signals.js'
import { prepareSupervisor } from './supervisor.js'

/** One of several processes is told by its supervisor, and also ends without it. Signals are the supervisor's. */
const listenForShutdown = ({ shutDown, reload }: OnSignals) => {
  if (!cluster.isWorker) return onSignals({ shutDown, reload })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  let isTold = false
  const tell = (reason: string) => {
    if (!isTold) shutDown(reason)
    isTold = true
  }
  process.on('message', (message) => {
    if (message === shutDownMessage) tell(message)
    if (message === reloadMessage) reload()
  })
  process.on('disconnect', () => tell('the supervisor has ended'))
  return undefined
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** Shuts down at the first signal, within a known time, and stops at once at the second. */
const shutDownOnSignals = (log: Log, { drainDelay, serviceKeysFile }: Config) => {
  const shutdown = new AbortController()
  let started: Promise<App> | undefined
  const closeAll = async () => {
    // During a start, waits for it and closes what it has opened. A failed start has closed that itself, and is reported
    // where it was called: once, and with its own exit code.
    const app = await started?.catch(() => new Promise<never>(() => undefined))
    await app?.close()
  }
  const shutDown = (signal: string) => {
    if (shutdown.signal.aborted) process.exit(1)
    shutdown.abort()
    const within = shutdownBudget(drainDelay)
    log.info({ signal, within: secondsText(within) }, 'shutting down')
    // Every answered request is committed by now, so a store that does not close is no failure.
    setTimeout(() => {
      log.warn('shutdown took too long: exiting before everything was closed')
      process.exit(0)
    }, within)
    closeAll().then(
      () => process.exit(0),
      (err) => {
        log.fatal({ err }, 'shutdown failed')
        process.exit(1)
      },
    )
  }
  const reload = () => {
    if (serviceKeysFile === undefined)
      return log.info(
        'nothing was read again: SERVICE_KEYS_FILE is not set, and all other settings are read at the start only',
      )
    const read = async () => (await started)?.reload()
    read().then(
      () => log.info('service keys were read again; all other settings are read at the start only'),
      (err) => log.error({ reason: reasonOf(err) }, 'service keys could not be read again: the earlier ones stay'),
    )
    return undefined
  }
  // Before the start: the first process of a container gets only the signals that it listens for.
  listenForShutdown({ shutDown, reload })
  return {
    signal: shutdown.signal,
    watch: (start: Promise<App>) => {
      started = start
      return start
    },
  }
}

/** The address, and what is good to know when trying the service out. */
const readyLine = ({ config, platform }: App) => {
  const { publicUrl, databaseUrl, dataDir } = config
  const notes = [
    ...(platform.mailbox ? [`mails are shown at ${publicUrl}/dev/mailbox`] : []),
    ...(databaseUrl === undefined
      ? [`embedded database in ${resolve(dataDir)}: for development only, not safe against power loss`]
      : []),
  ]
  return `Latchkey is ready at ${publicUrl}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`
}

/** One of several processes: the supervisor says when all of them are ready. */
const sayReady = (app: App, listeningAt: object, log: Log) => {
  if (cluster.isWorker) process.send?.(readyMessage)
  else log.info(listeningAt, readyLine(app))
}

/** Logs how each connection is protected: operators should know which ones are not encrypted. */
const sayProtections = (config: Config, log: Log) => {
  const connections = protections(config)
  if (Object.keys(connections).length > 0) log.info(connections, 'connections to other servers')
}

type Crash = (error: unknown) => void

/** Listens for the end, and returns what starts the service in this process. */
const prepareService = (config: Config, texts: Environment, log: Log, crash: Crash) => {
  const shutdown = shutDownOnSignals(log, config)
  return async () => {
    const app = await shutdown.watch(startApp(config, { texts, log, onFatal: crash, signal: shutdown.signal }))
    const listeningAt = { host: app.config.host, port: app.config.port }
    if (!app.isReady() && !shutdown.signal.aborted)
      log.info(listeningAt, `Latchkey is listening at ${app.config.publicUrl}; waiting for the database`)
    await app.prepared
    if (!shutdown.signal.aborted) sayReady(app, listeningAt, log)
  }
}

/** Runs the service, in one process or in several, and shuts it down when the process is told to. */
export const serveUntilSignal = async (config: Config, texts: Environment, env: Environment) => {
  const format = config.nodeEnv === 'development' ? 'plain' : 'json'
  const log = createLog({ level: config.logLevel, format, withPid: config.workers > 1 })
  const crash = (err: unknown) => {
    log.fatal({ err }, err instanceof Error ? err.message : 'an unknown failure')
    process.exit(1)
  }
  // After an unexpected error the state of the process is unknown: exit, and let the supervisor start a new one.
  process.on('uncaughtException', crash).on('unhandledRejection', crash)
  const isSupervisor = config.workers > 1 && cluster.isPrimary
  // Before the first line: a program that waits for that may send a signal at once.
  const start = isSupervisor ? prepareSupervisor(config, texts, log) : prepareService(config, texts, log, crash)
  if (!cluster.isWorker) {
    log.info({ version: programVersion(), node: process.versions.node, environment: config.nodeEnv }, 'starting')
    sayProtections(config, log)
    for (const remark of [...likelyTypos(env), ...warnOfOriginsWithoutCookies(config)]) log.warn(remark)
  }
  await start()
}
