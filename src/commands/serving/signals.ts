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
 * In milliseconds. npm and `timeout` send a signal to the process and to its group, so the process gets it twice. A person does not ask
 * twice within this time.
 */
const echoTime = 200

const withoutEchoes = (shutDown: OnSignals['shutDown']) => {
  let lastAt = Number.NEGATIVE_INFINITY
  return (signal: string) => {
    const isEcho = performance.now() - lastAt < echoTime
    lastAt = performance.now()
    if (!isEcho) shutDown(signal)
  }
}

/**
 * SIGTERM and Ctrl-C shut the service down, and so does SIGHUP when its terminal is closed. Without a terminal, SIGHUP asks the service
 * to read its files again.
 */
export const onSignals = ({ shutDown: act, reload }: OnSignals) => {
  const shutDown = withoutEchoes(act)
  const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
  // A signal that came while modules were loading is delivered later. It would be lost if there were no listener for a moment.
  process.on('SIGTERM', shutDown).on('SIGINT', shutDown)
  process.off('SIGTERM', endAtOnce).off('SIGINT', endAtOnce)
  if (!hasTerminal) return void process.on('SIGHUP', reload)
  // The kernel and the shell may both send SIGHUP, so the second one must not mean "stop at once".
  process.once('SIGHUP', shutDown).on('SIGHUP', () => undefined)
  return undefined
}
