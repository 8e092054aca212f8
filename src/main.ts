#!/usr/bin/env node
import { runCommand } from './commands/commands.js'
import { openStores } from './commands/open-stores.js'
import { loadConfig, readEnvironment } from './config.js'
import { OperatorError } from './lib/operator-error.js'

/** What an operator can fix gets its one sentence; everything else is a bug and shows where it happened. */
const explain = (error: unknown) => {
  if (error instanceof OperatorError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const run = async (args: string[]) => {
  const { stdin, stdout, stderr } = process
  const environment = readEnvironment()
  process.exitCode = await runCommand(args.length > 0 ? args : ['serve'], {
    stdin,
    stdout,
    stderr,
    environment,
    // Settings are read when a command needs them, so that help works without them.
    openStores: (role) => openStores(loadConfig(environment), role),
  })
}

run(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
