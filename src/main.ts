#!/usr/bin/env node
import type { Environment } from './config.js'
import { OperatorError } from './lib/operator-error.js'

// Before the rest is loaded, so that an error names the lines of the sources and not of the bundle.
process.setSourceMapsEnabled(true)

/** What an operator can fix gets its one sentence; everything else is a bug and shows where it happened. */
const explain = (error: unknown) => {
  if (error instanceof OperatorError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

const run = async (args: string[]) => {
  const { stdin, stdout, stderr } = process
  const { runCommand } = await import('./commands/commands.js')
  const { loadConfig, readEnvironment } = await import('./config.js')
  let read: Environment | undefined
  const environment = () => {
    read ??= readEnvironment()
    return read
  }
  process.exitCode = await runCommand(args.length > 0 ? args : ['serve'], {
    stdin,
    stdout,
    stderr,
    // Settings are read when a command needs them, so that help works without them.
    get environment() {
      return environment()
    },
    openStores: async (role) => {
      const config = loadConfig(environment())
      const { openStores } = await import('./commands/open-stores.js')
      return openStores(config, role)
    },
  })
}

run(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${explain(error)}\n`)
  process.exit(1)
})
