import { spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stepTimeout } from '../controls.js'
import { loadPuppeteer } from '../puppeteer.js'
import { testProgram } from './programs.js'

/** Fewer processes and fewer frames than a person would want, and no requests to services that no test can reach. */
const preferences = {
  'intl.accept_languages': 'en-GB',
  'network.captive-portal-service.enabled': false,
  'dom.ipc.processCount': 1,
  'dom.ipc.processPrelaunch.enabled': false,
  'dom.ipc.keepProcessesAlive.web': 2,
  'fission.autostart': false,
  'extensions.webextensions.remote': false,
  'network.process.enabled': false,
  'media.rdd-process.enabled': false,
  'layout.frame_rate': 10,
  'ui.prefersReducedMotion': 1,
  // For tests with several hosts of one domain.
  'network.dns.localDomains': 'auth.site.test,other.site.test',
}

/** The test run may be killed before it closes the browser. A shell notices by its input, which ends with this process. */
const endWithThisProcess = (pid: number, folder: string) => {
  const script = `read -r _; kill -9 ${pid}; rm -rf "$0"`
  const shell = spawn('/bin/sh', ['-c', script, folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  shell.unref()
  if ('unref' in shell.stdin && typeof shell.stdin.unref === 'function') shell.stdin.unref()
}

const launch = async () => {
  const profile = await mkdtemp(join(tmpdir(), 'latchkey-firefox-'))
  const browser = await loadPuppeteer().launch({
    browser: 'firefox',
    executablePath: testProgram('firefox'),
    userDataDir: profile,
    headless: true,
    args: ['--width=640', '--height=400'],
    timeout: 2 * stepTimeout,
    extraPrefsFirefox: preferences,
  })
  const [address, program] = [browser.wsEndpoint(), browser.process()]
  await browser.disconnect()
  if (program?.pid !== undefined) endWithThisProcess(program.pid, profile)
  const stop = async () => {
    const ended = new Promise((resolve) => program?.once('exit', resolve))
    if (program?.exitCode === null && program.kill('SIGKILL')) await ended
  }
  return { address, stop }
}

/**
 * One Firefox for all test processes: its start costs as much as ten pages. It serves one connection at a time, so the
 * processes wait in a queue: a process that connects here is sent the browser's address when it is free, and gives it back by
 * closing the connection, however that happens.
 */
export const startFirefox = async () => {
  let started: ReturnType<typeof launch> | undefined
  const waiting: Socket[] = []

  const serveFirst = async () => {
    started ??= launch()
    const { address } = await started
    waiting[0]?.write(address)
  }
  const server = createServer((socket) => {
    waiting.push(socket)
    if (waiting.length === 1) void serveFirst()
    socket.on('error', () => socket.destroy())
    socket.once('close', () => {
      const wasFirst = waiting[0] === socket
      waiting.splice(waiting.indexOf(socket), 1)
      if (wasFirst && waiting.length > 0) void serveFirst()
    })
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close()
      await (await started)?.stop()
    },
  }
}
