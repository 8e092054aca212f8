import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { minutes, seconds } from '../../lib/durations.js'
import { builtFile } from '../../lib/home.js'
import type { Log } from '../../platform/log.js'
import { openStores, type StoreConfig, type Stores } from '../../service/own-database.js'
import { secondsText, shutdownBudget } from '../../service/serving.js'
import { type Config, type Environment, settingsElsewhere } from '../../settings/config.js'
import {
  confirmFailure,
  isFailure,
  readyMessage,
  reloadMessage,
  sendSettings,
  settingsQuestion,
  shutDownMessage,
} from './process-messages.js'
import { onSignals } from './signals.js'

/**
 * A process that crashes is replaced, after a longer pause each time. If there were too many crashes and no process serves, the service
 * ends.
 */
const maxCrashes = 5
const crashWindow = 1 * minutes
const firstPause = 1 * seconds
const longestPause = 30 * seconds

/** The processes end themselves after `shutdownBudget`. The supervisor waits a little longer before it kills them. */
const longestShutdown = (config: Config) => shutdownBudget(config) + (config.ownDatabase ? 0.5 : 2) * seconds

/** The program that this process runs. A link to it may lead to a newer version by now, and versions must not mix. */
const ownProgram = fileURLToPath(builtFile('main.js'))

const startMetrics = async ({ metricsHost: host, metricsPort: port }: Config) => {
  if (port === undefined) return
  const { startMetricsServer } = await import('../../platform/metrics/metrics-server.js')
  const { createSummedMetrics } = await import('../../platform/metrics/summed-metrics.js')
  await startMetricsServer({ host, port, metrics: createSummedMetrics() })
}

/** Resolves when the last process has ended, and kills those that do not end in time. */
const endProcesses = async (isReady: (id: number) => boolean, within: number, log: Log) => {
  const running = Object.values(cluster.workers ?? {}).filter((each): each is Worker => each !== undefined)
  const exits = running.map((each) => new Promise((resolve) => each.once('exit', resolve)))
  for (const each of running) {
    if (each.isConnected()) each.send(shutDownMessage)
    // A process that is starting may not listen to messages yet. Until it does, a signal ends it.
    if (!isReady(each.id)) each.process.kill('SIGTERM')
  }
  const timer = setTimeout(() => {
    log.warn('shutdown took too long: killing the processes that are left')
    for (const each of running) each.process.kill('SIGKILL')
  }, within)
  await Promise.all(exits)
  clearTimeout(timer)
}

const announce = ({ host, port, publicUrl, workers }: Config, log: Log) =>
  log.info({ host, port, workers }, `Latchkey is ready at ${publicUrl} in ${workers} processes`)

/** Gives each process its settings, and prints why a process cannot start. At the first start all have the same reason, printed once. */
const answerStarts = (settings: () => Environment, ownDatabase: boolean, hasServed: () => boolean) => {
  const printedFailures = new Set<string>()
  cluster.on('message', (worker, message: unknown) => {
    if (message === settingsQuestion) sendSettings(worker, { settings: settings(), ownDatabase })
    if (!isFailure(message)) return
    if (hasServed() || !printedFailures.has(message.failure)) process.stderr.write(`${message.failure}\n`)
    printedFailures.add(message.failure)
    confirmFailure(worker)
  })
}

/** What the processes need of a PostgreSQL that this process runs. */
const settingsOf = ({ ownDatabase, databaseUrl, databaseOwnerUrl, jwtSecret, sealingKey }: StoreConfig): Environment =>
  ownDatabase
    ? {
        DATABASE_URL: databaseUrl,
        DATABASE_OWNER_URL: databaseOwnerUrl,
        JWT_SECRET: jwtSecret?.join(),
        SEALING_KEY: sealingKey?.join(),
      }
    : {}

const reload = () => {
  for (const each of Object.values(cluster.workers ?? {})) if (each?.isConnected()) each.send(reloadMessage)
}

/**
 * Listens for signals to shut down, and returns the function that starts the service in several processes on one port. Each process is
 * a whole instance. This one only starts the others, replaces those that crash, adds up their metrics, and ends them together.
 */
export const prepareSupervisor = (config: Config, givenSettings: Environment, log: Log) => {
  const crashes: number[] = []
  const readyIds = new Set<number>()
  let isEnding = false
  let hasServed = false
  let isAnnounced = false
  let opening: Promise<Stores> | undefined
  let settings = givenSettings

  const end = async (code: number) => {
    if (isEnding) process.exit(1)
    isEnding = true
    await endProcesses((id) => readyIds.has(id), longestShutdown(config), log)
    await opening?.then((stores) => stores.close()).catch(() => undefined)
    process.exit(code)
  }

  const replace = () => {
    const now = performance.now()
    crashes.push(now)
    const recentCrashes = crashes.filter((moment) => moment > now - crashWindow).length
    if (readyIds.size === 0 && recentCrashes > maxCrashes) {
      log.fatal({ crashes: recentCrashes }, 'the processes of the service crash again and again: giving up')
      return void end(1)
    }
    const pause = Math.min(longestPause, firstPause * 2 ** (recentCrashes - 1))
    setTimeout(() => {
      if (!isEnding) cluster.fork()
    }, pause)
    return undefined
  }

  cluster.on('exit', (worker, code, signal) => {
    readyIds.delete(worker.id)
    if (isEnding) return
    const details = { ended: worker.process.pid, exitCode: code, signal }
    log.error(details, `a process of the service has ended ${hasServed ? 'unexpectedly' : 'while it was starting'}`)
    // At the first start the cause is a wrong setting or a port in use, which the process has reported. A replacement would fail, too.
    if (hasServed) replace()
    else void end(code || 1)
  })
  answerStarts(
    () => settings,
    config.ownDatabase,
    () => hasServed,
  )
  cluster.on('message', ({ id }, message) => {
    if (message !== readyMessage) return
    readyIds.add(id)
    hasServed = true
    if (isAnnounced || readyIds.size < config.workers) return
    isAnnounced = true
    announce(config, log)
  })
  const shutDown = (signal: string) => {
    log.info({ signal, within: secondsText(longestShutdown(config)) }, 'shutting down all processes of the service')
    void end(0)
  }
  onSignals({ shutDown, reload })

  return async () => {
    await startMetrics(config)
    opening = openStores(config, log, settingsElsewhere(givenSettings, config))
    settings = { ...givenSettings, ...settingsOf((await opening).config) }
    if (isEnding) return
    cluster.setupPrimary({ exec: ownProgram })
    for (let count = 0; count < config.workers; count += 1) cluster.fork()
  }
}
