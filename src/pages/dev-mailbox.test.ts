import { pino } from 'pino'
import { beforeEach, describe, expect, it } from 'vitest'
import { languages } from '../contract/languages.js'
import { pageNames } from '../contract/pages.js'
import { createServer, type Server } from '../http/server.js'
import { systemClock } from '../lib/clock.js'
import { designOf } from '../lib/design.js'

import { mailKinds } from '../messages/mail-preview.js'

import { createDevelopmentMailbox, type DevelopmentMailbox } from '../platform/mail/mail.js'
import { readManifest } from './assets.js'
import { devMailboxRoutes } from './dev-mailbox.routes.js'
import { pageExamples, previewRoutes } from './preview.routes.js'

const publicUrl = 'http://localhost:3000'
const mail = {
  id: '01890000-0000-7000-8000-000000000001',
  to: 'ada@example.com',
  from: 'Latchkey <no-reply@localhost>',
  subject: '<b>Confirm</b> & "go"',
  text: `Open this:\n\n${publicUrl}/verify-email#token=abc&x='y'\n\n<img src=x onerror=alert(1)>\njavascript:alert(1)\n`,
  html: '<p onclick="alert(1)">Hi</p><script>alert(1)</script>',
}

describe('the development mailbox page', () => {
  let server: Server
  let mailbox: DevelopmentMailbox

  beforeEach(() => {
    const log = pino({ level: 'silent' })
    const mailboxUrl = `${publicUrl}/dev/mailbox`
    mailbox = createDevelopmentMailbox({ environment: 'development', mailboxUrl, clock: systemClock, log })
    server = createServer({ log, production: false, publicUrl, trustProxy: undefined }).server
    devMailboxRoutes(server, { mailbox, design: designOf('#1f6f5c') })
  })

  const get = (url: string) => server.inject({ method: 'GET', url })

  it('says what it is when there is no mail yet', async () => {
    const answer = await get('/dev/mailbox')
    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).toContain('No mail yet')
    expect(answer.body).toContain('does not exist in production')
  })

  it('lists mails newest first, and leads to each', async () => {
    await mailbox.send(mail)
    await mailbox.send({ ...mail, id: 'second', subject: 'The second' })
    const { body } = await get('/dev/mailbox')
    expect(body.indexOf('The second')).toBeLessThan(body.indexOf('Confirm'))
    expect(body).toContain(`href="/dev/mailbox/${mail.id}"`)
  })

  it('shows a mail with its links live and nothing else of it alive', async () => {
    await mailbox.send(mail)
    const { body } = await get(`/dev/mailbox/${mail.id}`)
    const link = `${publicUrl}/verify-email#token=abc&amp;x=&#39;y&#39;`
    expect(body).toContain(`<a href="${link}">${link}</a>`)
    expect(body).not.toMatch(/<script|<img|<b>|onclick="|href="javascript:/)
    expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
  })

  it('shows the HTML part in a frame of its own, where no script runs', async () => {
    await mailbox.send({ ...mail, html: `<html><head><title>x</title></head><body>${mail.html}</body></html>` })
    const page = await get(`/dev/mailbox/${mail.id}`)
    expect(page.headers['content-security-policy']).toContain("frame-src 'self'")
    expect(page.body).toMatch(new RegExp(`<iframe [^>]*sandbox="[^"]*" src="/dev/mailbox/${mail.id}/html"`))
    expect(page.body).not.toContain('allow-scripts')
    const picture = await get(`/dev/mailbox/${mail.id}/html`)
    expect(picture.headers['content-security-policy']).toMatch(/^sandbox .*default-src 'none'.*frame-ancestors 'self'/)
    expect(picture.headers['content-security-policy']).not.toMatch(/allow-scripts|allow-same-origin|script-src/)
    expect(picture.body).toContain('<base target="_top">')
    expect((await get('/dev/mailbox')).headers['content-security-policy']).toContain("frame-src 'none'")
  })

  it('knows nothing of a mail that is gone, whatever its name', async () => {
    for (const id of ['gone', '..%2f..%2fetc', '__proto__', '%3Cscript%3E'])
      expect((await get(`/dev/mailbox/${id}`)).statusCode).toBe(404)
  })

  it('gives scripts the mails and their links, of one recipient when asked', async () => {
    await mailbox.send(mail)
    await mailbox.send({ ...mail, id: 'other', to: 'grace@example.com' })
    const all = (await get('/dev/mailbox.json')).json()
    expect(all.mails.map(({ to }: { to: string }) => to)).toEqual(['grace@example.com', 'ada@example.com'])
    const [only, ...none] = (await get('/dev/mailbox.json?to=ADA@example.com')).json().mails
    expect(none).toEqual([])
    expect(only).toMatchObject({ subject: mail.subject, links: [`${publicUrl}/verify-email#token=abc&x='y'`] })
  })
})

describe('the preview', () => {
  const log = pino({ level: 'silent' })
  const { server } = createServer({ log, production: false, publicUrl, trustProxy: undefined })
  const design = designOf('#1f6f5c')
  const letterhead = {
    publicUrl,
    brand: { name: 'Acme', design },
    from: 'Acme <no-reply@localhost>',
    ownTexts: { en: { 'new-device.subject': 'Who is this at {productName}?' } },
  }
  previewRoutes(server, {
    look: { design, brand: '<img class="brand-word" src="/logo.png" alt="Acme">' },
    letterhead,
    drawPage: (name, language, more) =>
      `<html lang="${language}" class="${name}" data-settings='${JSON.stringify(more ?? {})}'><script type="module"></script></html>`,
    drawPlainPage: (name, language) => `<html lang="${language}" class="${name}"></html>`,
    hasAdminPage: true,
  })
  const get = (url: string) => server.inject({ method: 'GET', url })

  it('leads to every page and every mail, in every language', async () => {
    const { body } = await get('/dev/preview')
    const shown = new Set([...body.matchAll(/data-page="([^"]+)"/g)].map(([, name = '']) => name))
    expect([...shown].sort()).toEqual(Object.keys(readManifest().pages).sort())
    for (const name of [...pageNames, 'api/auth/admin']) expect(body).toContain(`href="/${name}?ui_locales=de"`)
    const mails = [...body.matchAll(/href="(\/dev\/preview\/mails\/[^"]+)"/g)].map(([, address = '']) => address)
    expect(mails).toHaveLength(mailKinds.length * languages.length)
    for (const address of mails) {
      const { statusCode, body } = await get(`${address}/html`)
      expect([address, statusCode]).toEqual([address, 200])
      expect(body).toContain(`<html lang="${address.split('/').at(-1)}">`)
    }
  })

  it('has the logo of the operator, on its own pages too', async () => {
    for (const path of ['/dev/preview', '/dev/preview/mails/new-device/en'])
      expect((await get(path)).body).toContain('<header class="brand"><img class="brand-word" src="/logo.png"')
  })

  it('shows pages that need an application or a mail, with answers of an example', async () => {
    const { body } = await get('/dev/preview')
    const pages = new Set(
      [...body.matchAll(/href="(\/dev\/preview\/pages\/[^"#]+)/g)].map(([, address = '']) => address),
    )
    expect(pages.size).toBe(Object.keys(pageExamples).length * languages.length)
    for (const address of pages) {
      const page = await get(address)
      const [, script = ''] = /<script src="([^"]+)"><\/script>\n<script type="module">/.exec(page.body) ?? []
      expect([address, page.statusCode, (await get(script)).headers['content-type']]).toEqual([
        address,
        200,
        'text/javascript; charset=utf-8',
      ])
    }
    expect(body).toContain('href="/dev/preview/too-many-requests/de"')
    expect((await get('/dev/preview/too-many-requests/de')).body).toBe(
      '<html lang="de" class="too-many-requests"></html>',
    )
    expect((await get('/dev/preview/too-many-requests/xx')).statusCode).toBe(404)
    expect((await get('/dev/preview/pages/mail-sign-in/de')).body).toContain(
      `<html lang="de" class="login" data-settings='{"mailSignIn":true}'>`,
    )
  })

  it('shows a mail as it is on a light and on a dark screen, whatever the browser has', async () => {
    const page = await get('/dev/preview/mails/new-device/en')
    const frames = [...page.body.matchAll(/<iframe [^>]*src="([^"]+)"/g)].map(([, address = '']) => address)
    const [light = '', dark = ''] = await Promise.all(frames.map(async (address) => (await get(address)).body))
    expect(light).toContain('@media not all{body{background')
    expect(dark).toContain('@media all{body{background')
    expect(light + dark).not.toContain('prefers-color-scheme')
  })

  it('shows a mail with the words of the operator, in a frame where no script runs', async () => {
    const page = await get('/dev/preview/mails/new-device/en')
    expect(page.body).toContain('<h1>Who is this at Acme?</h1>')
    expect(page.body).toMatch(
      /<iframe [^>]*sandbox="[^"]*" src="\/dev\/preview\/mails\/new-device\/en\/html\?scheme=light"/,
    )
    const picture = await get('/dev/preview/mails/new-device/en/html')
    expect(picture.headers['content-security-policy']).toMatch(/^sandbox .*default-src 'none'/)
  })

  it('knows nothing of other mails and languages', async () => {
    for (const path of ['none/en', 'new-device/xx', '__proto__/en', 'toString/en'])
      expect((await get(`/dev/preview/mails/${path}`)).statusCode).toBe(404)
    for (const path of ['pages/none/en', 'pages/consent/xx', 'pages/toString/en', 'examples/__proto__'])
      expect((await get(`/dev/preview/${path}`)).statusCode).toBe(404)
  })
})
