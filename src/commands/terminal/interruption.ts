type Signal = 'SIGINT' | 'SIGTERM'

/** The exit codes that a shell reports for a program that a signal has ended. */
export const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** Calls `stop` at the first Ctrl-C or SIGTERM. The second one ends the process at once. */
export const watchForInterruption = (stop: () => void) => {
  let receivedSignal: Signal | undefined
  const receive = (signal: Signal) => {
    receivedSignal = signal
    stopWatching()
    stop()
  }
  const stopWatching = () => void process.off('SIGINT', receive).off('SIGTERM', receive)
  process.on('SIGINT', receive).on('SIGTERM', receive)
  return { signal: () => receivedSignal, stopWatching }
}
