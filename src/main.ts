#!/usr/bin/env node
import { runCommand } from './commands/commands.js'
import { openStores } from './commands/open-stores.js'
import { ConfigurationFaults, loadConfig, readEnvironment } from './config.js'

/** Names of errors that an operator can fix: one sentence is enough. */
const plainErrors = [
  'DataDirectoryInUse',
  'DataDirectoryUnwritable',
  'SchemaTooNew',
  'SchemaOutdated',
  'MigrationsBroken',
  'RoleMissing',
  'StoreUnavailable',
  'MetricsPortUnusable',
]

const unusableHost = ['ENOTFOUND', 'EAI_AGAIN', 'EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL']
const isAboutListening = (error: Error) =>
  'syscall' in error && ['listen', 'bind', 'getaddrinfo'].includes(String(error.syscall))

/** What an operator can fix gets one sentence; everything else is a bug and shows where it happened. */
const explain = (error: unknown) => {
  if (error instanceof ConfigurationFaults) return error.faults.join('\n')
  if (!(error instanceof Error)) return String(error)
  if ('code' in error && error.code === 'EADDRINUSE')
    return 'The port is in use: set PORT to another one, or stop the program that has it.'
  if ('code' in error && unusableHost.includes(String(error.code)) && isAboutListening(error))
    return 'HOST cannot be listened on: it must be an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them.'
  if ('code' in error && error.code === 'EACCES')
    return 'The port or a file may not be used by this user: check PORT and DATA_DIR.'
  return plainErrors.includes(error.name) ? error.message : (error.stack ?? error.message)
}

const run = async (args: string[]) => {
  const { stdin, stdout, stderr } = process
  const environment = readEnvironment()
  process.exitCode = await runCommand(args.length > 0 ? args : ['serve'], {
    stdin,
    stdout,
    stderr,
    environment,
    // Settings are read when a command needs them: help and a mistyped option come first.
    openStores: (role) => openStores(loadConfig(environment), role),
  })
}

run(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
