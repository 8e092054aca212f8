#!/usr/bin/env node
import { openStore } from './app/open-platform.js'
import { migrateDatabase } from './app/prepare-database.js'
import { type App, startApp } from './app.js'
import { commandSummaries, runCommand } from './commands/commands.js'
import { doctor, doctorHelp } from './commands/doctor.js'
import { openStores } from './commands/open-stores.js'
import { type Config, ConfigurationFaults, likelyTypos, loadConfig, readEnvironment } from './config.js'
import { createLog } from './platform/log.js'

const help = `Latchkey, a self-hosted authentication service.

  latchkey serve              Run the service (the default)
  latchkey migrate            Bring the database to this version's schema, as the role of DATABASE_OWNER_URL
  latchkey doctor             Look at the settings and everything they name, and say what is wrong; changes nothing
${commandSummaries.join('\n')}

Settings are environment variables or lines of a .env file: see docs/configuration.md.`

const say = (line: string) => process.stdout.write(`${line}\n`)
const complain = (line: string) => process.stderr.write(`${line}\n`)

const caveat = ({ databaseUrl, dataDir }: Config) =>
  databaseUrl === undefined
    ? ` (embedded database in ${dataDir}: for trying out and small installations, not safe against power loss)`
    : ''

/** Ends the program in order at the first signal and at once at the second. */
const endOnSignals = (app: App) => {
  let isEnding = false
  const end = (signal: NodeJS.Signals) => {
    if (isEnding) process.exit(1)
    isEnding = true
    app.log.info({ signal }, 'ending')
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

const serve = async (config: Config) => {
  const log = createLog({ level: config.logLevel })
  const crash = (err: unknown) => {
    log.fatal({ err }, err instanceof Error ? err.message : 'an unknown failure')
    process.exit(1)
  }
  // What nobody expected leaves the program in a state that nobody knows: whoever supervises it starts it anew.
  process.on('uncaughtException', crash).on('unhandledRejection', crash)
  for (const typo of likelyTypos(readEnvironment())) log.warn(typo)
  const app = await startApp(config, { log, onFatal: crash })
  endOnSignals(app)
  const ready = `Latchkey is ready at ${app.config.publicUrl}${caveat(config)}`
  if (config.production) log.info({ host: app.config.host, port: app.config.port }, ready)
  else say(ready)
}

const migrate = async (config: Config) => {
  const database = await openStore(config, createLog({ level: 'warn' }))
  try {
    const applied = await migrateDatabase(config, database)
    say(applied.length === 0 ? 'The database is up to date.' : `Applied ${applied.join(', ')}.`)
  } finally {
    await database.close()
  }
}

/** Before the settings are read: it also says what is wrong with those. */
const examine = async (args: string[]) => {
  if (args.length > 1) return say(doctorHelp)
  process.exitCode = await doctor(readEnvironment(), process.stdout)
  return undefined
}

const run = async (args: string[]) => {
  const [command = 'serve'] = args
  if (['help', '--help', '-h'].includes(command)) return say(help)
  if (command === 'doctor') return examine(args)
  const config = loadConfig(readEnvironment())
  if (command === 'serve') return serve(config)
  if (command === 'migrate') return migrate(config)
  const { stdin, stdout, stderr } = process
  const code = await runCommand(args, { stdin, stdout, stderr, openStores: (role) => openStores(config, role) })
  if (code === undefined) complain(`There is no command "${args.join(' ')}".\n\n${help}`)
  process.exitCode = code ?? 2
  return undefined
}

/** What an operator can mend gets one sentence; everything else is a bug and shows where it happened. */
const explain = (error: unknown) => {
  if (error instanceof ConfigurationFaults) return error.faults.join('\n')
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'EADDRINUSE')
    return 'The port is in use: set PORT to another one, or stop the program that has it.'
  if ('code' in error && error.code === 'EACCES')
    return 'The port or a file may not be used by this user: check PORT and DATA_DIR.'
  const isPlain = [
    'DataDirectoryInUse',
    'DataDirectoryUnwritable',
    'SchemaTooNew',
    'SchemaOutdated',
    'MigrationsBroken',
    'StoreUnavailable',
    'MetricsPortUnusable',
  ]
  return isPlain.includes(error.name) ? error.message : (error.stack ?? error.message)
}

run(process.argv.slice(2)).catch((error: unknown) => {
  complain(explain(error))
  process.exit(1)
})
