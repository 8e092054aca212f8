import { execFile } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { get } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type BrowserName, openBrowser } from '../support/browsers.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { read } from '../support/project.js'
import { openRawConnection } from '../support/raw-connection.js'
import { testProgram } from '../support/servers/programs.js'
import { freePort, ownFolder, startServer } from '../support/servers/server.js'
import { listens, replaced } from '../support/site/nginx.js'
import { arrivesAt } from './browser-journeys.js'
import { startCaddy } from './caddy.js'

const fileOf = (path: string) => fileURLToPath(new URL(`../../deploy/${path}`, import.meta.url))

const leftovers: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const leave of leftovers.reverse()) await leave()
})

let port: number
let application: number
let latchkey: Latchkey

/** A development start, and the small application of the compose file. */
beforeAll(async () => {
  port = await freePort()
  application = await freePort()
  const server = await startServer({
    command: process.execPath,
    args: [fileOf('application/application.mjs')],
    folder: await ownFolder('application'),
    env: { PORT: String(application) },
    ready: () => listens(application),
  })
  leftovers.push(server.stop)
  const settings = { NODE_ENV: 'development', PUBLIC_URL: `http://localhost:${port}`, AFTER_SIGN_IN: '/start#top' }
  latchkey = await startLatchkey({ settings })
  leftovers.push(latchkey.stop)
})

const startNginx = async () => {
  const folder = await ownFolder('nginx-local')
  const shipped = await readFile(fileOf('nginx/local.conf'), 'utf8')
  const site = replaced(shipped, [
    ['127.0.0.1:8000', `127.0.0.1:${port}`],
    ['127.0.0.1:3000', `127.0.0.1:${latchkey.config.port}`],
    ['127.0.0.1:8080', `127.0.0.1:${application}`],
    ['/tmp/latchkey-nginx', `${folder}/nginx`],
    [/^events/gm, `${process.getuid?.() === 0 ? 'user root;\n' : ''}events`],
  ])
  await cp(fileOf('nginx/snippets'), join(folder, 'snippets'), { recursive: true })
  await writeFile(join(folder, 'local.conf'), site)
  return startServer({
    command: testProgram('nginx'),
    args: ['-e', 'stderr', '-c', join(folder, 'local.conf')],
    folder,
    ready: () => listens(port),
    endSignal: 'SIGTERM',
  })
}

const startPlainCaddy = async () =>
  startCaddy({ port, plainPort: await freePort(), instance: latchkey.config.port, application, tls: false })

const chromiumOnly: BrowserName[] = ['chromium']
const firefoxInLongRuns: BrowserName[] = inLongRun(['firefox'], [])

describe.each([
  ['nginx', startNginx, chromiumOnly],
  ['Caddy', startPlainCaddy, firefoxInLongRuns],
] as const)('on one machine, without TLS, behind %s', (name, startProxy, browsers) => {
  let proxy: Awaited<ReturnType<typeof startProxy>>
  beforeAll(async () => {
    proxy = await startProxy()
    expect(await proxy.log()).not.toContain('variables_hash')
  })
  afterAll(() => proxy?.stop())

  it.each(browsers)('a provider brings people back to the place they wanted, in %s', async (browser) => {
    const here = `http://localhost:${port}`
    const tab = await (await openBrowser(browser)).tab()
    await tab.goTo(`${here}/todos?a=1#/open/3`)
    await tab.press('Continue with Google')
    await tab.press('Ada Example')
    await arrivesAt(tab, `${here}/todos?a=1#/open/3`)

    // Signing in without a place in mind ends where the operator says, and the account page is within reach.
    await tab.press('Your account')
    await tab.see('Hello, Ada Example')
    expect(tab.address()).toBe(`${here}/api/auth/account-page`)
    await tab.press('Sign out')
    await tab.see('You are signed out.')
    await tab.goTo(`${here}/login`)
    await tab.press('Continue with GitHub')
    await tab.press('Ben Example')
    await tab.see('Your user id is')
    await arrivesAt(tab, `${here}/start#top`)
    await tab.close()
  })

  it('has the mailbox and nothing that only begins like it, and a cookie that plain HTTP keeps', async () => {
    const here = `http://localhost:${port}`
    const statuses: number[] = []
    for (const path of ['/dev/mailbox', '/dev/mailbox.json', '/dev/mailboxes', '/dev/mailbox.json5']) {
      statuses.push((await fetch(`${here}${path}`)).status)
    }
    expect(statuses).toEqual([200, 200, 401, 401])
    // `fetch` would replace sec-fetch-mode by its own.
    const cookie = await new Promise<string>((resolve, reject) => {
      const headers = { 'sec-fetch-mode': 'navigate', 'sec-fetch-site': 'cross-site' }
      get(`${here}/reports`, { headers }, (answer) => {
        answer.resume()
        resolve(String(answer.headers['set-cookie']))
      }).once('error', reject)
    })
    expect(cookie).toBe('latchkey_bounced=1; Max-Age=10; Path=/; HttpOnly; SameSite=Lax')
  })

  it('the commands of the five minutes work when they are pasted', async () => {
    const [, journey = ''] =
      /The same without a browser.*?```sh\n(.*?)```/s.exec(await read('docs/forward-auth.md')) ?? []
    const mailIsThere = 'curl -s localhost:8000/dev/mailbox.json | grep -q ada@example.com'
    const commands = journey
      // A busy machine needs longer for the mail.
      .replace('sleep 1 ', `until ${mailIsThere}; do sleep 0.1; done `)
      .replaceAll('localhost:8000', `localhost:${port}`)
      .replaceAll(/\bada\b/g, `guest-of-${name}`)
    const cwd = await ownFolder('five-minutes')
    const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd })
    expect(stdout).toMatch(/^401\n/)
    expect(stdout).toContain(`Hello, guest-of-${name}`)
  })

  it('an application serves no request without a name, and loses no name to thousands of tiny headers', async () => {
    const tab = await latchkey.signedUp(`many-${name}`)
    const tiny = 'D:\r\n'.repeat(1990)
    const connection = openRawConnection(port)
    const answer = await connection.ask(
      `GET /reports HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\nCookie: ${tab.jar.header()}\r\n${tiny}\r\n`,
    )
    // nginx has less room for headers than that needs.
    expect(answer).toContain(name === 'nginx' ? 'Headers too large' : `Hello, many-${name}`)
    const direct = await fetch(`http://127.0.0.1:${application}/reports`)
    expect([direct.status, await direct.text()]).toEqual([403, 'This request names no user.\n'])
  })

  it('is closed to other machines', async () => {
    await expect(fetch(`http://127.0.0.2:${port}/login`)).rejects.toThrow()
  })
})
