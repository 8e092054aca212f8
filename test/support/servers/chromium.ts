import { type AddressInfo, createServer } from 'node:net'
import type { BrowserServer } from 'playwright-core'
import { stepTimeout } from '../controls.js'
import { testProgram } from './programs.js'

/** With so little memory, Chromium draws less of what would have to be scrolled to. A click costs a quarter less. */
const drawsOnlyTheWindow = ['--force-gpu-mem-available-mb=1']

const launch = async () => {
  const { chromium } = await import('playwright-core')
  return chromium.launchServer({
    executablePath: testProgram('chromium'),
    timeout: stepTimeout,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      // For tests with several hosts.
      '--host-resolver-rules=MAP *.test 127.0.0.1',
      ...(process.env.PICTURES === '1' ? [] : drawsOnlyTheWindow),
    ],
  })
}

/**
 * One Chromium for all test processes: its start costs as much as ten pages. It starts when the first of them connects here,
 * and each is sent its address.
 */
export const startChromium = async () => {
  let started: Promise<BrowserServer> | undefined
  const server = createServer((socket) => {
    started ??= launch()
    socket.on('error', () => socket.destroy())
    started.then(
      (browser) => socket.end(browser.wsEndpoint()),
      (error: Error) => socket.end(error.message),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close()
      await (await started)?.close()
    },
  }
}
