import { countText } from '../../lib/text.js'
import type { Terminal } from '../command.js'

const barWidth = 30
const drawInterval = 100

/** Draws a progress bar on standard error. If that is no terminal, it draws nothing. */
export const createProgress = (stderr: Terminal['stderr'], totalBytes: number | undefined) => {
  const startedAt = performance.now()
  let drawnAt = Number.NEGATIVE_INFINITY
  let isShown = false

  const clear = () => {
    if (isShown) stderr.write('\r\u001b[2K')
    isShown = false
  }

  const draw = (bytes: number, rows: number) => {
    if (!stderr.isTTY) return
    const now = performance.now()
    if (now - drawnAt < drawInterval) return
    drawnAt = now
    const share = totalBytes ? Math.min(bytes / totalBytes, 1) : undefined
    const filled = Math.round((share ?? 0) * barWidth)
    const bar =
      share === undefined ? '' : `${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${Math.floor(share * 100)} %  `
    const perSecond = Math.round(rows / Math.max((now - startedAt) / 1_000, 0.001))
    const line = `${bar}${countText(rows, 'row')}, ${perSecond.toLocaleString('en')} a second`
    stderr.write(`\r\u001b[2K${line.slice(0, (stderr.columns || 80) - 1)}`)
    isShown = true
  }

  return { draw, clear }
}

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
