import { isatty } from 'node:tty'
import type { Log } from '../platform/log.js'

/**
 * SIGTERM and Ctrl-C shut down, and so does a terminal that is closed. Without a terminal, SIGHUP asks a service to read its
 * settings again: Latchkey reads them at the start only, and goes on.
 */
export const onEndSignals = (shutDown: (signal: string) => void, log: Log) => {
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
  process.on('SIGTERM', shutDown).on('SIGINT', shutDown)
  if (!hasTerminal)
    return void process.on('SIGHUP', () => log.info('SIGHUP is ignored: settings are read at the start'))
  // The kernel and the shell may both send it, and the second one does not mean "stop at once".
  process.once('SIGHUP', shutDown).on('SIGHUP', () => undefined)
  return undefined
}
