import { describe, expect, it } from 'vitest'
import { type Language, languages } from '../../contract/languages.js'
import type { PageSettings } from '../../contract/pages.js'
import type { Page } from './assets.js'
import { renderNotFound, renderPage } from './shell.js'

const inEachLanguage = <Words>(words: Words) =>
  Object.fromEntries(languages.map((language) => [language, words])) as Record<Language, Words>

const words = { title: 'Sign in', noscript: 'Switch <it> on', sections: { login: { heading: '</script><b>&' } } }
const page: Page = {
  script: '/api/auth/assets/login-X.js',
  styles: ['/api/auth/assets/base-Z.css'],
  words: { ...inEachLanguage(words), de: { ...words, title: 'Anmelden' } },
}
const settings: PageSettings = {
  language: 'en',
  productName: 'Latchkey',
  providers: [{ id: 'provider_a', name: 'Google', path: '/api/auth/provider-a' }],
  registration: 'open',
  secondFactor: 'optional',
  allowedOrigins: [],
  afterSignIn: '/dashboard',
  hasMailbox: false,
  registrationFields: [],
}
const theme = { name: 'Latchkey', accent: '#1f6f5c' }

describe('the shell of a page', () => {
  it('names its language, its title and its files', () => {
    const html = renderPage('login', page, theme, { ...settings, language: 'de' })

    expect(html).toContain('<html lang="de">')
    expect(html).toContain('<title>Anmelden · Latchkey</title>')
    expect(html).toContain('<link rel="stylesheet" href="/api/auth/assets/base-Z.css">')
    expect(html).toContain('<script type="module" src="/api/auth/assets/login-X.js"></script>')
  })

  it('hands the settings over as data that can neither end its element nor be run', () => {
    const html = renderPage('login', page, theme, settings)
    const [, handedOver = ''] = /<script type="application\/json" id="settings">(.*?)<\/script>/s.exec(html) ?? []

    expect(handedOver).not.toMatch(/[<>&]/)
    expect(JSON.parse(handedOver)).toEqual({ ...settings, words: words.sections })
  })

  it('has a heading for a browser without scripts', () => {
    expect(renderPage('login', page, theme, settings)).toMatch(
      /<noscript>.*<h1>Sign in<\/h1><p>Switch &lt;it&gt; on<\/p>.*<\/noscript>/,
    )
  })

  it('has no script of its own inside', () => {
    const scripts = renderPage('login', page, theme, settings).match(/<script[^>]*>/g)

    expect(scripts).toEqual([
      '<script type="application/json" id="settings">',
      '<script type="module" src="/api/auth/assets/login-X.js">',
    ])
  })

  it('allows no script but its own files, and no text that becomes HTML', () => {
    const [, policy] =
      /<meta http-equiv="Content-Security-Policy" content="([^"]*)">/.exec(
        renderPage('login', page, theme, settings),
      ) ?? []
    expect(policy).toBe(
      "script-src 'self';base-uri 'none';object-src 'none';require-trusted-types-for 'script';trusted-types 'none'",
    )
  })

  it('escapes what the configuration brings', () => {
    const html = renderPage(
      'login',
      page,
      { ...theme, name: '<b>"Acme"', logoUrl: 'https://x.test/?a=1&b="' },
      settings,
    )

    expect(html).not.toContain('<b>')
    expect(html).toContain('&lt;b&gt;&quot;Acme&quot;')
    expect(html).toContain('src="https://x.test/?a=1&amp;b=&quot;"')
  })

  it('carries the shades of both schemes', () => {
    expect(renderPage('login', page, theme, settings)).toMatch(
      /:root\{--accent:#1f6f5c;--on-accent:#ffffff;--accent-edge:#\w{6};--accent-text:#\w{6}\}@media \(prefers-color-scheme:dark\)/,
    )
  })
})

describe('the page for lost visitors', () => {
  it('needs no script', () => {
    const text = { title: 'Lost', heading: 'No door', text: 'Here is nothing.', action: 'Home' }
    const html = renderNotFound({ styles: ['/api/auth/assets/base-Z.css'], words: inEachLanguage(text) }, theme, 'fr')

    expect(html).toContain('<h1>No door</h1>')
    expect(html).toContain('<html lang="fr">')
    expect(html).not.toContain('<script')
  })
})
