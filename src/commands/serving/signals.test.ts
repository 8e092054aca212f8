import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const compiled = fileURLToPath(new URL('../../../dist/modules/commands/serving/signals.js', import.meta.url))

/** Runs this in a process of its own, with the functions of signals.ts, until SIGTERM is heard. Returns what the process prints. */
const printed = async (script: string) => {
  const whole = `const { endOnSignalsWhileLoading, onSignals } = await import(${JSON.stringify(compiled)})
    const shutDown = (signal) => {
      console.log(signal)
      if (signal === 'SIGTERM') process.exit()
    }
    const listen = () => onSignals({ shutDown, reload: () => undefined })
    const send = (...signals) => signals.forEach((signal) => process.kill(process.pid, signal))
    ${script}
    setTimeout(() => process.exit(), 10_000)`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', whole])
  return stdout.split('\n').filter((line) => line !== '')
}

describe('signals', () => {
  it('that came while modules were loading are not lost', async () => {
    expect(await printed(`endOnSignalsWhileLoading(); send('SIGTERM'); listen()`)).toEqual(['SIGTERM'])
  })

  it('that come twice at once, to the process and to its group, count once, and later ones count', async () => {
    const script = `listen(); send('SIGINT', 'SIGINT'); setTimeout(() => send('SIGTERM'), 400)`
    expect(await printed(script)).toEqual(['SIGINT', 'SIGTERM'])
  })
})
