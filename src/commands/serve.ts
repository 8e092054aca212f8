import { loadConfig } from '../config.js'
import { type Command, readArguments } from './command.js'

export const serve: Command = {
  summary: 'Run the service (the default)',
  help: `latchkey serve

Runs the service until SIGTERM or SIGINT. Settings are environment variables or lines of a .env file: see
docs/configuration.md. Logs go to standard output: plain lines in development, one JSON object on each line otherwise.`,

  run: async (args, { environment }) => {
    readArguments(args, {}, [])
    const config = loadConfig(environment)
    // The service itself is loaded for this command only.
    const { serveUntilSignal } = await import('./serve-until-signal.js')
    await serveUntilSignal(config, environment)
    return 0
  },
}
