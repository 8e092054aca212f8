import { isatty } from 'node:tty'

export type OnSignals = { shutDown: (signal: string) => void; reload: () => void }

const endAtOnce = () => process.exit(0)

/**
 * While the service is still loading there is nothing to close. The first process of a container gets only the signals that it listens
 * for, so without this the container runtime would wait and then kill it.
 */
export const endOnSignalsWhileLoading = () => {
  process.on('SIGTERM', endAtOnce).on('SIGINT', endAtOnce)
}

/**
 * SIGTERM and Ctrl-C shut the service down, and so does SIGHUP when its terminal is closed. Without a terminal, SIGHUP asks the service
 * to read its files again.
 */
export const onSignals = ({ shutDown, reload }: OnSignals) => {
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
  process.off('SIGTERM', endAtOnce).off('SIGINT', endAtOnce)
  process.on('SIGTERM', shutDown).on('SIGINT', shutDown)
  if (!hasTerminal) return void process.on('SIGHUP', reload)
  // The kernel and the shell may both send SIGHUP, so the second one must not mean "stop at once".
  process.once('SIGHUP', shutDown).on('SIGHUP', () => undefined)
  return undefined
}
