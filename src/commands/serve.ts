import { shutdownBudget } from '../app/serving.js'
import { type App, startApp } from '../app.js'
import { type Config, type Environment, likelyTypos, loadConfig } from '../config.js'
import { createLog, type Log } from '../platform/log.js'
import { programVersion } from '../platform/version.js'
import { type Command, readArguments } from './command.js'

/** Shuts down at the first signal, within a known time, and stops at once at the second. */
const endOnSignals = (log: Log, drainDelay: number) => {
  const ending = new AbortController()
  let started: Promise<App> | undefined
  const closeAll = async () => {
    // During a start, what it has opened so far is closed; its failure is told by whoever waits for it.
    const app = await started
    await app?.close()
  }
  const end = (signal: NodeJS.Signals) => {
    if (ending.signal.aborted) process.exit(1)
    ending.abort()
    const within = shutdownBudget(drainDelay)
    log.info({ signal, within }, 'ending')
    // Everything answered is committed by now: a store that does not answer is no reason to be killed.
    setTimeout(() => {
      log.warn('not everything was closed in time')
      process.exit(0)
    }, within)
    closeAll().then(
      () => process.exit(0),
      (err) => {
        log.fatal({ err }, 'the end was not orderly')
        process.exit(1)
      },
    )
  }
  // Before the start: the first process of a container gets no signal that it has not asked for.
  process.on('SIGTERM', end).on('SIGINT', end)
  return {
    signal: ending.signal,
    watch: (start: Promise<App>) => {
      started = start
      return start
    },
  }
}

/** What somebody who tries the service out needs to know besides its address. */
const readyLine = ({ config, platform }: App) => {
  const { publicUrl, databaseUrl, dataDir } = config
  const notes = [
    ...(platform.mailbox ? [`mails are shown at ${publicUrl}/dev/mailbox`] : []),
    ...(databaseUrl === undefined
      ? [`embedded database in ${dataDir}: for trying out and development, not safe against power loss`]
      : []),
  ]
  return `Latchkey is ready at ${publicUrl}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`
}

const serveUntilSignal = async (config: Config, env: Environment) => {
  const log = createLog({ level: config.logLevel, format: config.nodeEnv === 'development' ? 'plain' : 'json' })
  const crash = (err: unknown) => {
    log.fatal({ err }, err instanceof Error ? err.message : 'an unknown failure')
    process.exit(1)
  }
  // After an unexpected error the state is unknown: stop, and let the supervisor start a new process.
  process.on('uncaughtException', crash).on('unhandledRejection', crash)
  const ending = endOnSignals(log, config.drainDelay)
  log.info({ version: programVersion(), node: process.versions.node, environment: config.nodeEnv }, 'starting')
  for (const typo of likelyTypos(env)) log.warn(typo)
  const app = await ending.watch(startApp(config, { log, onFatal: crash, signal: ending.signal }))
  const place = { host: app.config.host, port: app.config.port }
  if (!app.isReady() && !ending.signal.aborted)
    log.info(place, `Latchkey is listening at ${app.config.publicUrl}; waiting for the database`)
  await app.prepared
  if (!ending.signal.aborted) log.info(place, readyLine(app))
}

export const serve: Command = {
  summary: 'Run the service (the default)',
  help: `latchkey serve

Runs the service until SIGTERM or SIGINT. Settings are environment variables or lines of a .env file: see
docs/configuration.md. Logs go to standard output: plain lines in development, one JSON object a line otherwise.`,

  run: async (args, { environment }) => {
    readArguments(args, {}, [])
    await serveUntilSignal(loadConfig(environment), environment)
    return 0
  },
}
