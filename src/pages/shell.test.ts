import { describe, expect, it } from 'vitest'
import { type Language, languages } from '../contract/languages.js'
import type { PageSettings } from '../contract/pages.js'
import { designOf } from '../lib/design.js'
import type { Page } from './assets.js'
import { renderAroundParameters, renderPage, renderPlainPage } from './shell.js'

const inEachLanguage = <Words>(words: Words) =>
  Object.fromEntries(languages.map((language) => [language, words])) as Record<Language, Words>

const footer = { language: 'Language', terms: 'Terms', privacy: 'Privacy', imprint: 'Legal notice', support: 'Help' }
const words = {
  title: 'Sign in',
  withoutScript: { noscript: 'Switch <it> on', notComplete: 'Not <all>.', reload: 'Again' },
  footer,
  sections: { login: { heading: '</script><b>&' } },
}
const page: Page = {
  script: '/api/auth/assets/login-X.js',
  styles: ['/api/auth/assets/base-Z.css'],
  words: { ...inEachLanguage(words), de: { ...words, title: 'Anmelden' } },
  drawFirstCard: ({ productName }) => `<section class="card">${productName}</section>`,
}
const settings: PageSettings = {
  language: 'en',
  productName: 'Latchkey',
  providers: [{ id: 'provider_a', name: 'Google', path: '/api/auth/provider-a' }],
  registration: 'open',
  usernames: 'chosen',
  secondFactor: 'optional',
  mailSignIn: false,
  boundSessions: false,
  mailIsOff: false,
  allowedOrigins: [],
  afterSignIn: '/dashboard',
  hasMailbox: false,
  registrationFields: [],
}
const theme = { name: 'Latchkey', design: designOf('#1f6f5c') }

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

  it('has its first card, and a heading instead of it for a browser without scripts', () => {
    const html = renderPage('login', page, theme, settings)

    expect(html).toContain('<div id="page"><main><section class="card">Latchkey</section></main></div>')
    expect(html).toMatch(/<noscript>.*<h1>Sign in<\/h1><p>Switch &lt;it&gt; on<\/p>.*<\/noscript>/)
    expect(html).toContain('<noscript><style>#page,#not-complete{display:none}</style></noscript>')
  })

  it('says that its script has not come, with a link where the address has everything that is needed', () => {
    const saidOn = (name: string, own: Partial<PageSettings> = {}) =>
      /<p id="not-complete" [^>]*>(.*)<\/p>/.exec(renderPage(name, page, theme, { ...settings, ...own }))?.[1]

    expect(saidOn('login')).toBe('Not &lt;all&gt;. <a class="button" href="">Again</a>')
    expect(saidOn('login', { mailSignIn: true })).toBe('Not &lt;all&gt;.')
    expect(saidOn('reset-password')).toBe('Not &lt;all&gt;.')
    expect(saidOn('authorize', { parameters: 'client_id=x' })).toBe('Not &lt;all&gt;.')
  })

  it('is rendered once for all forms of applications, whatever they send', () => {
    const render = renderAroundParameters('authorize', page, theme, settings)
    for (const parameters of ['', 'client_id=x&state="</script><!--', '$& $1 \u2028 (parameters)', '\\u003c'])
      expect(render(parameters)).toBe(renderPage('authorize', page, theme, { ...settings, parameters }))
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
      { ...theme, name: '<b>"Acme"', logo: { address: 'https://x.test/?a=1&b="' } },
      settings,
    )

    expect(html).not.toContain('<b>')
    expect(html).toContain('&lt;b&gt;&quot;Acme&quot;')
    expect(html).toContain('src="https://x.test/?a=1&amp;b=&quot;"')
  })

  it('leads from its brand to the application, if one is known', () => {
    const brandOf = (home?: string) =>
      /<header class="brand">(.*)<\/header>/.exec(renderPage('login', page, { ...theme, home }, settings))?.[1]

    expect(brandOf()).not.toContain('<a')
    expect(brandOf('https://x.test/?a=1&b="')).toMatch(
      /^<a href="https:\/\/x\.test\/\?a=1&amp;b=&quot;">.*<span>Latchkey<\/span><\/a>$/,
    )
  })

  it('has a mark beside the name, and a word mark in its place', () => {
    const logo = { address: '/logo.png', darkAddress: '/a, b.png' }
    const brandIn = (own: object) => {
      const html = renderPage('login', page, { ...theme, ...own }, settings)
      return [/<header class="brand">(.*)<\/header>/, /<link rel="icon" href="([^"]*)">/].map(
        (part) => part.exec(html)?.[1],
      )
    }
    const dark = '<source srcset="/a%2C%20b.png" media="(prefers-color-scheme: dark)">'
    expect(brandIn({ logo })).toEqual([
      `<picture>${dark}<img class="brand-mark" src="/logo.png" alt="" width="32" height="32"></picture><span>Latchkey</span>`,
      '/logo.png',
    ])
    const [word, icon] = brandIn({ logo: { ...logo, size: { width: 500, height: 100 } } })
    expect(word).toBe(
      `<picture>${dark}<img class="brand-word" src="/logo.png" alt="Latchkey" width="160" height="32" style="width:10rem"></picture>`,
    )
    expect(decodeURIComponent(icon ?? '')).toMatch(/>L<\/text>/)
    expect(brandIn({ logo, iconUrl: '/icon.png' })[1]).toBe('/icon.png')
  })

  it('carries the shades of both schemes', () => {
    expect(renderPage('login', page, theme, settings)).toMatch(
      /--accent:#1f6f5c;--on-accent:#ffffff;--accent-edge:#1f6f5c;--accent-text:#1f6f5c;.*@media \(prefers-color-scheme:dark\)\{:root\{.*--accent:#1f6f5c;/,
    )
  })
})

describe('the switch of languages', () => {
  it('names each language in itself, and the one of the page', () => {
    const html = renderPage('login', page, theme, { ...settings, language: 'de' })
    const buttons = [...html.matchAll(/<button name="to" value="(..)" lang="\1" aria-pressed="(\w+)">(\S+)<\/button>/g)]

    expect(buttons.map(([, , , name]) => name)).toEqual(['English', 'Deutsch', 'Español', 'Français'])
    expect(buttons.filter(([, , isPressed]) => isPressed === 'true').map(([, code]) => code)).toEqual(['de'])
  })
})

describe('the page for lost visitors', () => {
  it('needs no script', () => {
    const text = { title: 'Lost', heading: 'No door', text: 'Here is nothing.', action: 'Home', footer }
    const html = renderPlainPage(
      'not-found',
      { styles: ['/api/auth/assets/base-Z.css'], words: inEachLanguage(text) },
      theme,
      'fr',
    )

    expect(html).toContain('<h1>No door</h1>')
    expect(html).toContain('<html lang="fr">')
    expect(html).not.toContain('<script')
  })
})
