import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { fastify } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { expectCookieLines } from '../../test/support/cookie-lines.js'
import { languages } from '../contract/languages.js'
import { pageNames } from '../contract/pages.js'
import { createCookies } from '../http/cookies.js'
import type { Server } from '../http/server.js'

import { designOf } from '../lib/design.js'
import { type Assets, loadAssets } from './assets.js'
import { pagesRoutes } from './pages.routes.js'

const firstLoadLimit = 32 * 1024

let assets: Assets
let server: Server
const noted: unknown[] = []
const live: { registration: 'open' | 'closed'; secondFactor: 'optional'; mailSignIn: boolean } = {
  registration: 'open',
  secondFactor: 'optional',
  mailSignIn: false,
}

const serverWith = (afterSignIn: string, hasAdminPage = false) => {
  const made: Server = fastify()
  const pages = pagesRoutes(made, {
    assets,
    cookies: createCookies({ secure: true, host: 'auth.example.com' }),
    theme: { name: 'Latchkey', design: designOf('#1f6f5c') },
    providers: [],
    usernames: 'chosen',
    live: () => live,
    boundSessions: false,
    mailIsOff: false,
    afterSignIn,
    allowedOrigins: [],
    noteReturnTo: ({ query }) => void noted.push(query),
    hasMailbox: false,
    hasAdminPage,
    publicUrl: 'https://auth.example.com',
    registrationFields: [],
  })
  made.setNotFoundHandler(pages.plainPage('not-found'))
  return made
}

beforeAll(async () => {
  assets = await loadAssets()
  server = serverWith('/dashboard')
})

const get = (url: string, headers: Record<string, string> = {}) => server.inject({ method: 'GET', url, headers })

/** Every address that the browser fetches by itself when it opens the page. */
const filesOf = (html: string) =>
  [...html.matchAll(/(?:href|src)="\/api\/auth\/assets\/([^"]+)"/g)].flatMap(([, name]) =>
    name === undefined ? [] : [name],
  )

describe('a page', () => {
  it.each(pageNames)('/%s is served fresh, to every visitor, in every language', async (name) => {
    for (const language of languages) {
      const page = await get(`/${name}`, { 'accept-language': `${language}-XX, en;q=0.1` })

      expect(page.statusCode).toBe(200)
      expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
      expect(page.headers['cache-control']).toBe('no-store')
      expect(page.headers.vary).toBe('accept-encoding, accept-language, cookie')
      expect(page.headers['set-cookie']).toBeUndefined()
      expect(page.body).toContain(`<html lang="${language}">`)
    }
  })

  it('has its form in the HTML, unless the browser may be signed in already', async () => {
    const own = await get('/login')
    expect(own.body).toMatch(/<form method="post".*<input[^>]* name="password".*<button disabled type="submit"/)
    // A link would lose the page to return to, which the script knows.
    expect(own.body).not.toMatch(/<main>.*<a [^>]*href=/)
    const returning = await get('/login', { cookie: 'refresh_token=anything' })
    expect(returning.body).toMatch(/<main><section class="card"><h1>Sign in<\/h1>/)
    expect(returning.body).not.toContain('name="password"')
  })

  it('looks at the place to return to', async () => {
    await get('/login?returnTo=https%3A%2F%2Fother.example.com')
    expect(noted.at(-1)).toEqual({ returnTo: 'https://other.example.com' })
  })

  it('of the account is also below /api/auth/, for a host whose application has its own /dashboard', async () => {
    const [own, other] = await Promise.all([get('/dashboard'), get('/api/auth/account-page')])

    expect(other.statusCode).toBe(200)
    expect(other.body).toBe(own.body)
    expect(other.headers['cache-control']).toBe('no-store')
  })

  it('of administrators is there only if a group of them is named, and says nothing about anyone', async () => {
    const own = await serverWith('/dashboard', true).inject({ method: 'GET', url: '/api/auth/admin' })

    expect((await get('/api/auth/admin')).statusCode).toBe(404)
    expect(own.statusCode).toBe(200)
    expect(own.headers['cache-control']).toBe('no-store')
    expect(own.headers['set-cookie']).toBeUndefined()
    // The others load nothing of it.
    const files = filesOf(own.body).filter((name) => name.endsWith('.js'))
    expect(files.filter((name) => /^admin-/.test(name))).toEqual(files)
  })

  it('answers HEAD', async () => {
    const page = await server.inject({ method: 'HEAD', url: '/login' })

    expect(page.statusCode).toBe(200)
    expect(page.body).toBe('')
  })

  it('comes in the smallest form that the browser takes', async () => {
    const plain = (await get('/login', { 'accept-encoding': 'identity, br;q=0' })).body
    const br = await get('/login', { 'accept-encoding': 'gzip, deflate, br' })
    const gzip = await get('/login', { 'accept-encoding': 'gzip;q=0.5' })

    expect(br.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(br.rawPayload).toString()).toBe(plain)
    expect(gzip.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(gzip.rawPayload).toString()).toBe(plain)
  })

  it('loads in less than 32 KB, everything included', async () => {
    const headers = { 'accept-encoding': 'br' }
    const page = await get('/login', headers)
    const files = filesOf(brotliDecompressSync(page.rawPayload).toString())
    const loads = await Promise.all(files.map((file) => get(`/api/auth/assets/${file}`, headers)))
    const sizes = [page, ...loads].map(({ rawPayload }) => rawPayload.length)

    expect(files.sort()).toEqual([expect.stringMatching(/^base-.+\.css$/), expect.stringMatching(/^login-.+\.js$/)])
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(firstLoadLimit)
  })

  it('loads nothing from another host', async () => {
    for (const name of pageNames) expect((await get(`/${name}`)).body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//)
  })
})

describe('the language of a page', () => {
  const chosen = (value: string) => ({ cookie: `__Host-latchkey_language=${value}`, 'accept-language': 'de' })
  const languageOf = async (url: string, headers: Record<string, string>) =>
    /<html lang="(..)">/.exec((await get(url, headers)).body)?.[1]

  it('is what the visitor chose, before what an application asks for and the browser is set to', async () => {
    expect(await languageOf('/login?ui_locales=fr', chosen('es'))).toBe('es')
    expect(await languageOf('/nowhere', chosen('es'))).toBe('es')
    expect(await languageOf('/login?ui_locales=fr', chosen('ja'))).toBe('fr')
    for (const invalid of ['', 'xx', 'es-MX', '%65s', 'toString', 'es; __Host-latchkey_language=fr'])
      expect(await languageOf('/login', chosen(invalid)), invalid).toBe('de')
    // A sibling host can set this name for the whole domain.
    expect(await languageOf('/login', { cookie: 'latchkey_language=es', 'accept-language': 'de' })).toBe('de')
    expect(await languageOf('/login', { 'accept-language': 'ja' })).toBe('en')
  })

  it.each([
    ['https://auth.example.com/api/auth/authorize?a=1&b=%2F', '/api/auth/authorize?a=1&b=%2F'],
    ['https://auth.example.com//other.example/x', '/other.example/x'],
    ['https://auth.example.com/\\\\other.example/x', '/other.example/x'],
    ['', '/'],
  ])('is chosen by a form, which leads back to the page %s', async (referer, location) => {
    const answer = await get('/api/auth/language?to=es', { referer, 'sec-fetch-site': 'same-origin' })

    expect([answer.statusCode, answer.headers.location]).toEqual([303, location])
    expect(answer.headers['cache-control']).toBe('no-store')
    expectCookieLines([String(answer.headers['set-cookie'])], { isSecure: true })
    expect(answer.headers['set-cookie']).toContain('__Host-latchkey_language=es; Max-Age=31536000;')
  })

  it('is not chosen by a page of another site', async () => {
    const ofOthers: Record<string, string>[] = [
      { referer: 'https://other.example/', 'sec-fetch-site': 'cross-site' },
      { referer: 'https://auth.example.com/', 'sec-fetch-site': 'same-site' },
      { referer: 'https://other.example/', host: 'auth.example.com' },
      { host: 'auth.example.com' },
    ]
    for (const headers of ofOthers) {
      const answer = await get('/api/auth/language?to=es', headers)
      expect([answer.statusCode, answer.headers.location]).toEqual([303, '/'])
      expect(answer.headers['set-cookie']).toBeUndefined()
    }
    const older = await get('/api/auth/language?to=es', {
      referer: 'https://auth.example.com/a',
      host: 'auth.example.com',
    })
    expect([older.headers.location, older.headers['set-cookie']]).toEqual(['/a', expect.any(String)])
  })

  it('comes as words for a page that goes on with what is typed in it', async () => {
    const words = (await get('/api/auth/language?to=es&page=login', { 'sec-fetch-site': 'same-origin' })).json()
    expect(words).toMatchObject({
      language: 'es',
      footer: { language: 'Idioma' },
      words: { login: { title: 'Iniciar sesión' } },
    })
    for (const wrong of ['to=xx', 'to=es&page=nothing', 'to=es&page=toString']) {
      const answer = await get(`/api/auth/language?${wrong}`, { 'sec-fetch-site': 'same-origin' })
      expect([answer.statusCode, answer.headers['set-cookie']], wrong).toEqual([404, undefined])
    }
  })
})

describe('an asset', () => {
  it('may be kept for ever, since its name changes with it', async () => {
    const [name = ''] = filesOf((await get('/login')).body)
    const asset = await get(`/api/auth/assets/${name}`, { 'accept-encoding': 'br' })

    expect(name).toMatch(/^[a-z-]+-[A-Z0-9]{8}\.(?:js|css)$/)
    expect(asset.headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(asset.headers.vary).toBe('accept-encoding')
    expect(asset.headers['content-encoding']).toBe('br')
  })

  it('has the type of what it is', async () => {
    for (const [name, { type }] of assets.files) {
      expect(type).toBe(name.endsWith('.js') ? 'text/javascript; charset=utf-8' : 'text/css; charset=utf-8')
    }
  })

  it.each(['nothing.js', 'manifest.json', '..%2fmanifest.json'])('is not %s', async (name) => {
    const missing = await get(`/api/auth/assets/${name}`, { accept: 'text/html' })

    expect(missing.statusCode).toBe(404)
    expect(missing.json()).toEqual({
      error: 'Not found',
      message: 'There is nothing at this address',
      code: 'not_found',
    })
  })

  it('is nowhere but below /api/auth/: an application on the same host has /assets/ to itself', async () => {
    const [name = ''] = filesOf((await get('/login')).body)

    expect((await get(`/assets/${name}`)).statusCode).toBe(404)
    expect((await get('/login')).body).not.toMatch(/["']\/assets\//)
  })
})

describe('the client for pages without a build', () => {
  const address = '/api/auth/client.js'

  it('is a module, kept for five minutes and then asked for by its tag', async () => {
    const first = await get(address, { 'accept-encoding': 'br' })
    expect(first.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=300',
      'content-encoding': 'br',
      vary: 'accept-encoding',
    })
    expect(brotliDecompressSync(first.rawPayload).toString()).toMatch(/export\s*\{[^}]*\bcreateClient\b/)

    const { etag = '' } = first.headers
    for (const tags of [etag, `"another", ${etag}`, etag.replace('W/', '')]) {
      const again = await get(address, { 'if-none-match': tags })
      expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
    }
    expect((await get(address, { 'if-none-match': 'W/"another"' })).statusCode).toBe(200)
  })

  it('takes hardly more than 3 KB on its way', async () => {
    expect((await get(address, { 'accept-encoding': 'gzip' })).rawPayload.length).toBeLessThan(3_250)
  })
})

describe('the rest', () => {
  it('sends the root to the login page, which moves on', async () => {
    const root = await get('/')

    expect(root.statusCode).toBe(302)
    expect(root.headers.location).toBe('/login')
    // The login page would move on to the root, and the root back to the login page.
    const own = await serverWith('/').inject({ method: 'GET', url: '/' })
    expect(own.headers.location).toBe('/dashboard')
  })

  it('leads password managers to the place where the password is changed', async () => {
    const answer = await get('/.well-known/change-password')

    expect(answer.statusCode).toBe(302)
    expect(answer.headers.location).toBe('/api/auth/account-page#password')
  })

  it('answers the lost kindly, in their language, without repeating what they asked for', async () => {
    const lost = await get('/<script>alert(1)</script>', { 'accept-language': 'de' })

    expect(lost.statusCode).toBe(404)
    expect(lost.body).toContain('Seite nicht gefunden')
    expect(lost.body).not.toContain('alert')
  })
})
