import { readFile } from 'node:fs/promises'
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openChromium, signIn } from '../support/chromium.js'
import { freshPostgres } from '../support/databases.js'
import { freePort, ownFolder } from '../support/servers/server.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { makeCertificate } from '../support/site/nginx.js'
import { addPeople, password } from '../support/site/site.js'

const planted = [
  'access_token=planted; Domain=site.test; Path=/; Secure',
  'refresh_token=planted; Domain=site.test; Path=/; Secure',
  'csrf_secret=planted; Domain=site.test; Path=/; Secure',
  '__Host-csrf_secret=planted; Domain=site.test; Path=/; Secure',
  '__Host-attempt_aaaaaaaaaaaa=planted; Domain=site.test; Path=/; Secure',
  '__Host-pending_link=planted; Domain=site.test; Path=/; Secure',
]

/** TLS for two hosts of one domain: one is the service, the other plants cookies for both. */
const startHosts = async (tls: number, service: number) => {
  const folder = await ownFolder('siblings')
  const cert = await makeCertificate(folder)
  const key = await readFile(join(folder, 'privkey.pem'), 'utf8')
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers.host?.startsWith('other.'))
      return void response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': planted }).end('planted')
    const { url: path, method, headers } = request
    const asked = forward({ host: '127.0.0.1', port: service, path, method, headers }, (got) => {
      response.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(response)
    })
    asked.once('error', () => response.destroy())
    request.pipe(asked)
  }
  const server = createServer({ cert, key }, answer)
  await new Promise<void>((resolve) => server.listen(tls, '127.0.0.1', resolve))
  return server
}

describe('a sibling host that plants cookies for the whole domain', () => {
  let browser: Browser
  let instance: Instance
  let hosts: Awaited<ReturnType<typeof startHosts>>
  let database: Awaited<ReturnType<typeof freshPostgres>>
  let port = 0

  beforeAll(async () => {
    database = await freshPostgres()
    port = await freePort()
    const publicUrl = `https://auth.site.test:${port}`
    instance = await startInstance(await freePort(), {
      DATABASE_URL: database.url,
      REDIS_URL: process.env.TEST_REDIS_URL ?? '',
      SMTP_URL: 'smtp://127.0.0.1:9',
      PUBLIC_URL: publicUrl,
    })
    await addPeople(database.url, ['ada'])
    hosts = await startHosts(port, instance.port)
    browser = await openChromium()
  })

  afterAll(async () => {
    hosts?.closeAllConnections()
    hosts?.close()
    await instance?.terminate()
    await database?.drop()
  })

  it('plants none of our own names, and locks nobody out', async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
    context.setDefaultTimeout(20_000)
    const cookies = async () => (await context.cookies()).map(({ name, domain, value }) => ({ name, domain, value }))
    const page = await context.newPage()
    const [ours, other] = [`https://auth.site.test:${port}`, `https://other.site.test:${port}`]
    await page.goto(`${ours}/login`)
    await signIn(page, 'ada', password)
    await page.getByRole('heading', { name: /Hello/ }).waitFor()

    await page.goto(`${other}/`)
    const names = (await cookies()).filter(({ value }) => value === 'planted').map(({ name }) => name)
    expect(names.sort()).toEqual(['access_token', 'csrf_secret', 'refresh_token'])

    // Both tokens come twice now and count as none. The sign-in page clears them.
    await page.goto(`${ours}/dashboard`)
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    expect((await cookies()).filter(({ name }) => /^(access|refresh)_token$/.test(name))).toEqual([])
    await signIn(page, 'ada', password)
    await page.getByRole('heading', { name: /Hello/ }).waitFor()

    // And where the cookies were planted while the form was open, signing in replaces them.
    await page.getByRole('button', { name: 'Sign out', exact: true }).click()
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor()
    const tab = await context.newPage()
    await tab.goto(`${other}/`)
    await signIn(page, 'ada', password)
    await page.getByRole('heading', { name: /Hello/ }).waitFor()
    await page.goto(`${ours}/dashboard`)
    await page.getByRole('heading', { name: /Hello/ }).waitFor()
    await context.close()
  })
})
