import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addApplication } from '../support/applications.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

const app = 'http://app.localhost:5173'
const fromApp = { origin: app, 'sec-fetch-site': 'same-site', 'sec-fetch-dest': 'empty' }
const fromElsewhere = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty' }
let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: `${app}, https://other.example.com` } })
  await latchkey.signedUp('ada')
})
afterAll(() => latchkey.stop())

const credentials = { username: 'ada', password: goodPassword }
const corsHeaders = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))
const granted = {
  'access-control-allow-origin': app,
  'access-control-allow-credentials': 'true',
  'access-control-expose-headers':
    'Retry-After, RateLimit, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, X-Request-Id',
}

describe('a page of an allowed origin', () => {
  it('may ask what it may send', async () => {
    const asked = { ...fromApp, 'access-control-request-method': 'POST' }
    const { status, headers, text } = await latchkey.browser().send('OPTIONS', '/api/auth/login', undefined, {
      headers: asked,
    })
    expect({ status, text }).toEqual({ status: 204, text: '' })
    expect(corsHeaders(headers)).toEqual({
      ...granted,
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      'access-control-allow-headers': 'Content-Type, X-CSRF-Token',
      'access-control-max-age': '600',
    })
    expect(headers.get('vary')).toBe('Origin')
  })

  it('signs in, reads and changes with the cookies of the user, also when it is refused', async () => {
    const tab = latchkey.browser()
    const options = { headers: fromApp }
    const signedIn = await tab.post('/api/auth/login', credentials, options)
    expect(signedIn.status).toBe(200)
    expect(corsHeaders(signedIn.headers)).toEqual(granted)
    expect((await tab.get('/api/auth/account', options)).status).toBe(200)
    const wrong = await tab.post('/api/auth/login', { ...credentials, password: 'wrong' }, options)
    expect([wrong.status, corsHeaders(wrong.headers)]).toEqual([401, granted])
    const { body } = await tab.get('/api/auth/csrf-token', options)
    const headers = { ...fromApp, 'x-csrf-token': String(body.csrfToken) }
    expect((await tab.post('/api/auth/logout', undefined, { headers })).status).toBe(204)
    expect((await tab.post('/api/auth/logout', undefined, options)).status).toBe(403)
  })

  it('may import the client', async () => {
    const imported = { ...fromApp, 'sec-fetch-dest': 'script' }
    const { status, headers } = await latchkey.browser().get('/api/auth/client.js', { headers: imported })
    expect([status, corsHeaders(headers)]).toEqual([200, granted])
    expect(headers.get('vary')).toBe('Origin, accept-encoding')
    expect(headers.get('cache-control')).toBe('public, max-age=300')
    const page = await latchkey.browser().get('/api/auth/account-page', { headers: fromApp })
    expect(page.headers.get('vary')).toBe('Origin, accept-encoding, accept-language, cookie')
  })

  it('may not read the pages of the protocol, to which applications send the whole window', async () => {
    const tab = latchkey.browser()
    await tab.post('/api/auth/login', credentials, { headers: fromApp })
    await addApplication(latchkey)
    await expect.poll(async () => (await tab.get('/api/auth/authorize')).status).toBe(200)
    const preflight = { ...fromApp, 'access-control-request-method': 'GET' }
    for (const path of ['/api/auth/authorize?client_id=x', '/api/auth/end-session'])
      for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
        const headers = method === 'OPTIONS' ? preflight : fromApp
        const answer = await tab.send(method, path, undefined, { headers })
        expect(corsHeaders(answer.headers), `${method} ${path}`).toEqual({})
      }
    const spelledOddly = await tab.get('/api/auth/%61uthorize', { headers: fromApp })
    expect([spelledOddly.status, corsHeaders(spelledOddly.headers)]).toEqual([200, {}])
  })

  it('may do so below /api/auth/ only', async () => {
    const tab = latchkey.browser()
    for (const path of ['/login', '/api/content', '/api/service/users/1', '/health']) {
      const { headers } = await tab.get(path, { headers: fromApp })
      expect(corsHeaders(headers), path).toEqual({})
    }
    expect((await tab.post('/login', credentials, { headers: fromApp })).status).toBe(403)
  })
})

describe('a page of any other origin', () => {
  it.each(['https://evil.example', `${app}.evil.example`, 'http://app.localhost', 'null', `${app}/`])(
    '%s is granted nothing',
    async (origin) => {
      const asked = { ...fromElsewhere, origin, 'access-control-request-method': 'POST' }
      const tab = latchkey.browser()
      const preflight = await tab.send('OPTIONS', '/api/auth/login', undefined, { headers: asked })
      expect(preflight.status).not.toBe(204)
      const posted = await tab.post('/api/auth/login', credentials, { headers: { ...fromElsewhere, origin } })
      expect(posted.status).toBe(403)
      const read = await tab.get('/api/auth/csrf-token', { headers: { ...fromElsewhere, origin } })
      expect(read.status).toBe(403)
      for (const { headers } of [preflight, posted, read]) {
        expect(corsHeaders(headers)).toEqual({})
        expect(headers.get('vary')).toBe('Origin')
      }
    },
  )
})

describe('the login page', () => {
  it('knows to which other sites it may lead back', async () => {
    const page = (await latchkey.browser().get('/login')).text
    expect(page).toContain(`"allowedOrigins":["${app}","https://other.example.com"]`)
  })
})
