import { afterAll, beforeAll, expect, it } from 'vitest'
import { openChromium, signIn } from '../support/chromium.js'
import { startLatchkey } from '../support/latchkey.js'
import { secretOf } from '../support/site/instance.js'
import { freePorts, startNginxSite } from '../support/site/nginx.js'
import { addPeople, password } from '../support/site/site.js'
import { adminArea } from './admin-area.js'
import { type Application, startApplication } from './application.js'

const leftovers: (() => Promise<void>)[] = []
afterAll(async () => {
  for (const leave of leftovers.reverse()) await leave()
})

let application: Application
let auth: string
let app: string

beforeAll(async () => {
  const ports = await freePorts()
  auth = `https://auth.site.test:${ports.tls}`
  app = `https://app.site.test:${ports.tls}`
  const latchkey = await startLatchkey({
    settings: {
      NODE_ENV: 'production',
      PUBLIC_URL: auth,
      COOKIE_DOMAIN: 'site.test',
      ALLOWED_ORIGINS: app,
      JWT_SECRET: secretOf('a'),
      SMTP_URL: 'smtp://127.0.0.1:9',
      MAIL_FROM: 'no-reply@example.com',
    },
  })
  leftovers.push(latchkey.stop)
  await addPeople(latchkey.config.databaseUrl ?? '', ['ada'])
  application = await startApplication()
  leftovers.push(application.stop)
  const nginx = await startNginxSite({
    instances: [latchkey.config.port],
    ports,
    site: 'nginx/latchkey.conf',
    beside: 'forward-auth/nginx-own-host.conf',
    domain: 'site.test',
    application: application.port,
    changes: [
      ['https://auth.site.test;', `${auth};`],
      ['    # Every request here', `${await adminArea('nginx')}    # Every request here`],
    ],
  })
  leftovers.push(nginx.stop)
})

it('signs users in on the host of Latchkey alone, and leads back to the application on its own host', async () => {
  const browser = await openChromium()
  const context = await browser.newContext({ ignoreHTTPSErrors: true, locale: 'en-GB' })
  leftovers.push(() => context.close())
  const page = await context.newPage()
  for (const path of ['/dev/preview', '/dev/preview/mails/new-device/en', '/dev/mailbox']) {
    const answer = await page.goto(`${auth}${path}`)
    expect([path, answer?.status()]).toEqual([path, 404])
    expect(await answer?.text()).toContain('class="status-code"')
  }
  const greeted = () => page.waitForSelector('h1:text-is("Hello, ada")')
  const leadsTo = (path: string, from: string) =>
    page.waitForURL(`${auth}${path}returnTo=${encodeURIComponent(`${app}${from}`)}`)

  // The name of one of our pages is an address of the application like any other.
  await page.goto(`${app}/login`)
  await leadsTo('/login?', '/login')
  const wanted = '/reports?a=1&b=%2F#/open/3'
  await page.goto(`${app}${wanted}`)
  await leadsTo('/login?', wanted)
  expect(application.heard).toEqual([])
  await signIn(page, 'ada', password)
  await page.waitForURL(`${app}${wanted}`)
  await greeted()
  expect(application.last()?.headers.cookie).toBeUndefined()

  // A renewal by nginx on the host of the application serves both hosts.
  await context.clearCookies({ name: 'access_token' })
  await page.goto(`${app}/reports`)
  await greeted()
  await page.goto(`${auth}/dashboard`)
  await page.getByText(/^Hello, /).waitFor()

  await page.goto(`${app}/strong/users`)
  await leadsTo('/step-up?fresh=10m&factors=2&', '/strong/users')
  await page.goto(`${app}/admin`)
  await leadsTo('/step-up?group=1&', '/admin')
  await page.goto(`${app}/recent`)
  await greeted()
  const program = await page.evaluate(async () => {
    const answer = await fetch('/strong')
    return { status: answer.status, page: answer.headers.get('x-auth-step-up') }
  })
  expect(program).toEqual({ status: 403, page: `${auth}/step-up?fresh=10m&factors=2` })
})
