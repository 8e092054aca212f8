type Signal = 'SIGINT' | 'SIGTERM'

/** The exit codes that a shell reports for a program that a signal has ended. */
export const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const

/** At the first Ctrl-C or SIGTERM the work is told to stop. The second one ends the process at once. */
export const watchForInterruption = (stop: () => void) => {
  let received: Signal | undefined
  const receive = (signal: Signal) => {
    received = signal
    forget()
    stop()
  }
  const forget = () => void process.off('SIGINT', receive).off('SIGTERM', receive)
  process.on('SIGINT', receive).on('SIGTERM', receive)
  return { signal: () => received, forget }
}
