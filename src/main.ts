#!/usr/bin/env node

// Everything is imported after the check of the version: an older Node could not read it. It must be able to read this file.
const [major = 0, minor = 0] = process.version.replace('v', '').split('.').map(Number)
const isSupported = major > 20 || (major === 20 && minor >= 19)

/** What an operator can fix gets its one sentence; everything else is a bug and shows where it happened. */
const explain = async (error: unknown) => {
  const { OperatorError } = await import('./lib/operator-error.js')
  if (error instanceof OperatorError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

/** A command that waits for something which never comes would end with 0: nothing keeps such a process running. */
const endUnfinished = () => {
  process.stderr.write('The command ended before it was finished. Please report this: it is a bug.\n')
  process.exit(1)
}

const run = async (args: string[]) => {
  // Before the rest is loaded, so that an error names the lines of the sources and not of the bundle.
  process.setSourceMapsEnabled(true)
  const { stdin, stdout, stderr } = process
  const { runCommand } = await import('./commands/commands.js')
  const { loadConfig, readEnvironment } = await import('./settings/config.js')
  let cached: ReturnType<typeof readEnvironment> | undefined
  const read = () => {
    if (!cached) cached = readEnvironment()
    return cached
  }
  const settings = async () => {
    const { settingsFor } = await import('./commands/open-for-commands.js')
    return settingsFor(read().environment)
  }
  const code = await runCommand(args.length > 0 ? args : ['serve'], {
    stdin,
    stdout,
    stderr,
    // Settings are read when a command needs them, so that help works without them.
    get environment() {
      return read().environment
    },
    get envFileRemarks() {
      return read().envFileRemarks
    },
    settings,
    openRooms: async (role) => {
      const config = loadConfig(await settings())
      const { openRoomsForCommand } = await import('./commands/open-for-commands.js')
      return openRoomsForCommand(config, role)
    },
  })
  process.off('beforeExit', endUnfinished)
  process.exitCode = code
}

if (isSupported) {
  process.once('beforeExit', endUnfinished)
  run(process.argv.slice(2)).catch(async (error: unknown) => {
    process.stderr.write(`${await explain(error)}\n`)
    process.exit(1)
  })
} else {
  process.stderr.write(`Latchkey needs Node 20.19 or newer; this is ${process.version.replace('v', '')}.\n`)
  process.exitCode = 1
}
