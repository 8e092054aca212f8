import cluster from 'node:cluster'
import { OperatorError } from '../../lib/operator-error.js'
import { readConfig } from '../../settings/config.js'
import { commandWithoutRooms } from '../command.js'
import { settingsFromSupervisor, tellFailure } from './process-messages.js'
import { endOnSignalsWhileLoading } from './signals.js'

/** A process with a supervisor does not print why it cannot start, but tells the supervisor. */
const reportFailure = async (work: Promise<void>) => {
  try {
    await work
  } catch (error) {
    if (!cluster.isWorker || !(error instanceof OperatorError)) throw error
    await tellFailure(error.message)
    process.exit(1)
  }
}

export const serve = commandWithoutRooms({
  summary: 'Run the service (the default)',
  help: `latchkey serve

Runs the service until SIGTERM or Ctrl-C. Settings are environment variables, or lines of a .env file with LATCHKEY_ before
the name: see docs/configuration.md. Logs go to standard output: plain lines in development, one JSON object on each line otherwise.`,
  json: { none: 'it runs until it is stopped; its log is JSON in production' },
  run: async ({ context }) => {
    // SIGHUP asks the service to read files again. It must not end a service that is still loading.
    process.on('SIGHUP', () => undefined)
    if (!cluster.isWorker) endOnSignalsWhileLoading()
    const ofSupervisor = cluster.isWorker ? await settingsFromSupervisor() : undefined
    const environment = ofSupervisor?.settings ?? context.environment
    const { config: ownConfig, givenSettings } = readConfig(environment)
    const config = ofSupervisor ? { ...ownConfig, ownDatabase: ofSupervisor.ownDatabase } : ownConfig
    // The service itself is loaded for this command only.
    const { serveUntilSignal } = await import('./serve-until-signal.js')
    const remarks = cluster.isWorker ? [] : context.envFileRemarks
    // What a supervisor gives are settings only; a configuration file may name other variables.
    const env = { ...context.environment, ...environment }
    await reportFailure(serveUntilSignal(config, givenSettings, env, remarks))
    return 0
  },
})
