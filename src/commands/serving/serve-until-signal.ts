import cluster from 'node:cluster'
import { resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { reasonOf } from '../../lib/caught.js'
import { createLog, type Log } from '../../platform/log.js'
import { programVersion } from '../../platform/version.js'
import { type App, startApp } from '../../service/open-service.js'
import { secondsText, shutdownBudget } from '../../service/serving.js'
import { type Config, type Environment, likelyTypos } from '../../settings/config.js'
import { protections } from '../../settings/connections.js'
import { warnOfOriginsWithoutCookies } from '../../settings/hosts.js'
import { readyMessage, reloadMessage, shutDownMessage } from './process-messages.js'
import { type OnSignals, onSignals } from './signals.js'
import { prepareSupervisor } from './supervisor.js'

/** In a process with a supervisor, the supervisor handles signals and tells the process. If the supervisor ends, the process ends, too. */
const listenForShutdown = ({ shutDown, reload }: OnSignals) => {
  if (!cluster.isWorker) return onSignals({ shutDown, reload })
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => undefined)
  let isShuttingDown = false
  const shutDownOnce = (reason: string) => {
    if (!isShuttingDown) shutDown(reason)
    isShuttingDown = true
  }
  process.on('message', (message) => {
    if (message === shutDownMessage) shutDownOnce(message)
    if (message === reloadMessage) reload()
  })
  process.on('disconnect', () => shutDownOnce('the supervisor has ended'))
  return undefined
}

/**
 * Ends the process. Node would wait for a file that is still being read, such as one on a network disk that hangs, and the thread that
 * reads it cannot be stopped.
 */
const end = (code: number) => {
  if (!isReadingFiles()) process.exit(code)
  process.emit('exit', code)
  process.kill(process.pid, 'SIGKILL')
}

const isReadingFiles = () => process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))

/** What is read now is usually read within a moment. What hangs is ended with the time of the shutdown. */
const untilFilesAreRead = async () => {
  while (isReadingFiles()) await wait(50)
}

/** Shuts down at the first signal, within a known time, and stops at once at the second. */
const shutDownOnSignals = (log: Log, config: Config) => {
  const { serviceKeysFile, configurationFile } = config
  const shutdownController = new AbortController()
  let startedApp: Promise<App> | undefined
  const closeAll = async () => {
    // If the service is still starting, this waits for the start and then closes the service. A start that fails has closed everything
    // itself. Its caller reports the failure and ends the process, so this waits forever.
    const app = await startedApp?.catch(() => new Promise<never>(() => undefined))
    await app?.close()
  }
  const shutDown = (signal: string) => {
    if (shutdownController.signal.aborted) end(1)
    shutdownController.abort()
    const within = shutdownBudget(config)
    log.info({ signal, within: secondsText(within) }, 'shutting down')
    // Every answered request has been committed, so a database that does not close in time is no failure.
    setTimeout(() => {
      log.warn('shutdown took too long: exiting before everything was closed')
      end(0)
    }, within)
    const close = async () => {
      await closeAll()
      await untilFilesAreRead()
    }
    close().then(
      () => end(0),
      (err) => {
        log.fatal({ err }, 'shutdown failed')
        end(1)
      },
    )
  }
  const reload = () => {
    if (serviceKeysFile === undefined && configurationFile === undefined)
      return log.info(
        'nothing was read again: SERVICE_KEYS_FILE is not set, and CONFIGURATION_FILE neither; all other settings are read at the start only',
      )
    const readKeys = async () => (await startedApp)?.reload()
    if (serviceKeysFile !== undefined)
      readKeys().then(
        () => log.info('service keys were read again; all other settings are read at the start only'),
        (err) => log.error({ reason: reasonOf(err) }, 'service keys could not be read again: the earlier ones stay'),
      )
    const apply = async () => (await startedApp)?.applyConfiguration()
    apply().catch((err) =>
      log.error({ reason: reasonOf(err) }, 'the configuration file could not be applied: everything stays as it was'),
    )
    return undefined
  }
  // This comes before the start, because the first process of a container gets only the signals that it listens for.
  listenForShutdown({ shutDown, reload })
  return {
    signal: shutdownController.signal,
    watch: (start: Promise<App>) => {
      startedApp = start
      return start
    },
  }
}

/** The address of the service, and notes for those who try it out. */
const readyLine = ({ config, platform }: App) => {
  const { publicUrl, ownDatabase, dataDir } = config
  const notes = [
    ...(platform.mailbox ? [`mails are shown at ${publicUrl}/dev/mailbox`] : []),
    ...(ownDatabase ? [`its database is in ${resolve(dataDir)}`] : []),
  ]
  return `Latchkey is ready at ${publicUrl}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`
}

/** With several processes, each tells the supervisor, which logs when all of them are ready. */
const announceReady = (app: App, listeningAt: object, log: Log) => {
  if (cluster.isWorker) process.send?.(readyMessage)
  else log.info(listeningAt, readyLine(app))
}

/**
 * While there is no user, logs the link with which the first account is made; on a terminal it also stands by itself. Of several
 * processes only the first one does it, and not one that replaces it.
 */
const offerSetup = async ({ rooms: { setup } }: App, log: Log) => {
  if (cluster.isWorker && cluster.worker?.id !== 1) return
  try {
    const link = await setup.makeLink()
    if (link !== undefined) {
      log.info(`setup: whoever opens this link within an hour makes the first account: ${link}`)
      if (process.stdout.isTTY) process.stdout.write(`\n${link}\n\n`)
      return
    }
    const advice = await setup.adviceWithoutAdministrator()
    if (advice !== undefined) log.info(`setup: ${advice}`)
  } catch (err) {
    log.warn({ err }, 'the link of the setup could not be made: latchkey setup-link prints one')
  }
}

/** Logs how each connection is protected, because operators should know which connections are not encrypted. */
const logProtections = (config: Config, log: Log) => {
  const connections = protections(config)
  if (Object.keys(connections).length > 0) log.info(connections, 'connections to other servers')
}

type Crash = (error: unknown) => void

/** Listens for signals to shut down, and returns the function that starts the service in this process. */
const prepareService = (
  config: Config,
  givenSettings: Environment,
  env: Environment,
  { log, crash }: { log: Log; crash: Crash },
) => {
  const shutdown = shutDownOnSignals(log, config)
  return async () => {
    const app = await shutdown.watch(
      startApp(config, { givenSettings, environment: env, log, onFatal: crash, signal: shutdown.signal }),
    )
    const listeningAt = { host: app.config.host, port: app.config.port }
    if (!app.isReady() && !shutdown.signal.aborted)
      log.info(listeningAt, `Latchkey is listening at ${app.config.publicUrl}; waiting for the database`)
    await app.prepared
    if (shutdown.signal.aborted) return
    announceReady(app, listeningAt, log)
    await offerSetup(app, log)
  }
}

/** Runs the service, in one process or in several, and shuts it down when the process is told to. */
export const serveUntilSignal = async (
  config: Config,
  givenSettings: Environment,
  env: Environment,
  envFileRemarks: readonly string[],
) => {
  const format = config.nodeEnv === 'development' ? 'plain' : 'json'
  const log = createLog({ level: config.logLevel, format, withPid: config.workers > 1 })
  const crash = (err: unknown) => {
    log.fatal({ err }, err instanceof Error ? err.message : 'an unknown failure')
    end(1)
  }
  // After an unexpected error the state of the process is unknown, so it exits. The supervisor or systemd starts a new one.
  process.on('uncaughtException', crash).on('unhandledRejection', crash)
  const isSupervisor = config.workers > 1 && cluster.isPrimary
  // Signals are listened for before the first line of the log, because a program that waits for this line may send a signal at once.
  const start = isSupervisor
    ? prepareSupervisor(config, givenSettings, log)
    : prepareService(config, givenSettings, env, { log, crash })
  if (!cluster.isWorker) {
    log.info({ version: programVersion(), node: process.versions.node, environment: config.nodeEnv }, 'starting')
    for (const remark of envFileRemarks) log.info(remark)
    logProtections(config, log)
    for (const remark of [...likelyTypos(env), ...warnOfOriginsWithoutCookies(config)]) log.warn(remark)
  }
  await start()
}
