import { isatty } from 'node:tty'

export type OnSignals = { shutDown: (signal: string) => void; reload: () => void }

/**
 * SIGTERM and Ctrl-C shut the service down, and so does SIGHUP when its terminal is closed. Without a terminal, SIGHUP asks the service
 * to read its files again.
 */
export const onSignals = ({ shutDown, reload }: OnSignals) => {
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
  process.on('SIGTERM', shutDown).on('SIGINT', shutDown)
  if (!hasTerminal) return void process.on('SIGHUP', reload)
  // The kernel and the shell may both send SIGHUP, so the second one must not mean "stop at once".
  process.once('SIGHUP', shutDown).on('SIGHUP', () => undefined)
  return undefined
}
