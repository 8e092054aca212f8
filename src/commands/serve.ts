import { type App, shutdownBudget, startApp } from '../app.js'
import { type Config, type Environment, likelyTypos, loadConfig } from '../config.js'
import { createLog } from '../platform/log.js'
import { programVersion } from '../platform/version.js'
import { type Command, readArguments } from './command.js'

/** Shuts down at the first signal, within a known time, and stops at once at the second. */
const endOnSignals = (app: App) => {
  let isEnding = false
  const end = (signal: NodeJS.Signals) => {
    if (isEnding) process.exit(1)
    isEnding = true
    const within = shutdownBudget(app.config.drainDelay)
    app.log.info({ signal, within }, 'ending')
    // Everything answered is committed by now: a store that does not answer is no reason to be killed.
    setTimeout(() => {
      app.log.warn('not everything was closed in time')
      process.exit(0)
    }, within)
    app.close().then(
      () => process.exit(0),
      (err) => {
        app.log.fatal({ err }, 'the end was not orderly')
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', end).on('SIGINT', end)
}

/** What somebody who tries the service out needs to know besides its address. */
const readyLine = ({ config, platform }: App) => {
  const { publicUrl, databaseUrl, dataDir } = config
  const notes = [
    ...(platform.mailbox ? [`mails are shown at ${publicUrl}/dev/mailbox`] : []),
    ...(databaseUrl === undefined
      ? [`embedded database in ${dataDir}: for trying out and small installations, not safe against power loss`]
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
  log.info({ version: programVersion(), node: process.versions.node, environment: config.nodeEnv }, 'starting')
  for (const typo of likelyTypos(env)) log.warn(typo)
  const app = await startApp(config, { log, onFatal: crash })
  endOnSignals(app)
  log.info({ host: app.config.host, port: app.config.port }, readyLine(app))
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
