import { describe, expect, it } from 'vitest'
import { languages } from '../contract/languages.js'
import type { PageSettings } from '../contract/pages.js'
import { loadAssets } from '../pages/assets.js'
import { withOwnTexts } from '../pages/own-page-words.js'
import { ownWordsIn, replaceableTexts } from './operator-files.js'

const texts = replaceableTexts()
const pages = (own: object) => ({ en: { pages: own } })
const told: PageSettings = {
  language: 'en',
  productName: 'Acme',
  providers: [],
  registration: 'open',
  usernames: 'chosen',
  secondFactor: 'optional',
  mailSignIn: false,
  boundSessions: false,
  mailIsOff: false,
  afterSignIn: '/dashboard',
  allowedOrigins: [],
  registrationFields: [],
  hasMailbox: false,
}
const mails = (own: object) => ({ en: { mails: own } })

describe('the words of the operator', () => {
  it('can be every text that is listed, in every language', () => {
    const all = Object.fromEntries(
      languages.map((language) => [language, { pages: texts.pages[language], mails: texts.mails[language] }]),
    )
    expect(ownWordsIn(all, texts)).toEqual(texts)
    for (const language of languages) {
      expect(Object.keys(texts.pages[language]).sort()).toEqual(Object.keys(texts.pages.en).sort())
      expect(Object.keys(texts.mails[language]).sort()).toEqual(Object.keys(texts.mails.en).sort())
      expect(Object.values(texts.mails[language]).join()).not.toContain('undefined')
    }
  })

  it('stand in their pages, in the title, below it and in what the server draws before the script has come, and nowhere else', async () => {
    const assets = await loadAssets()
    const own = {
      en: {
        'login.title': 'Enter',
        'login.heading': 'Hello there',
        'common.noscript': 'Scripts!',
        'footer.support': 'Ask us',
        'not-found.heading': 'Lost',
      },
    }
    const changed = withOwnTexts(assets, own)
    expect(changed.pages.login.words.en).toMatchObject({
      title: 'Enter',
      withoutScript: { noscript: 'Scripts!' },
      footer: { support: 'Ask us' },
      sections: { login: { title: 'Enter' }, common: { noscript: 'Scripts!' } },
    })
    const { drawFirstCard, words } = changed.pages.login
    const card = drawFirstCard({ ...told, words: words.en.sections })
    expect(card).toContain('<h1>Hello there</h1>')
    expect(card).not.toContain('Welcome back')
    expect(changed.plainPages['not-found'].words.en).toMatchObject({ heading: 'Lost', footer: { support: 'Ask us' } })
    expect(changed.pages.login.words.de).toBe(assets.pages.login.words.de)
    expect(withOwnTexts(assets, {}).pages).toEqual(assets.pages)
  })

  it.each<[string, unknown, string]>([
    ['no object', [], 'the file is no JSON object'],
    ['a part without texts', { en: { pages: null } }, 'en.pages is no JSON object'],
    ['another language', { it: {} }, 'the file has the key "it", which is not known. It can have: en,'],
    ['another part', { en: { sms: {} } }, 'en has the key "sms", which is not known. It can have: pages, mails'],
    ['no texts', { en: { pages: 'Hello' } }, 'en.pages is no JSON object'],
    [
      'a key that is not known',
      pages({ 'login.header': 'x' }),
      'en.pages has the key "login.header", which is not known',
    ],
    ['a key of every object', pages({ toString: 'x' }), 'en.pages has the key "toString", which is not known'],
    ['a group of texts', pages({ login: 'x' }), 'en.pages has the key "login", which is not known'],
    ['an empty text', pages({ 'login.heading': ' ' }), 'en.pages["login.heading"] must be a text of 1 to 200'],
    ['a text that is too long', pages({ 'login.heading': 'x'.repeat(201) }), 'must be a text of 1 to 200 characters'],
    ['a text of two lines', mails({ 'new-device.subject': 'a\nb' }), 'en.mails["new-device.subject"] must be one line'],
    ['a line separator', pages({ 'login.heading': 'ab\u2028c' }), 'can be seen, and its character 3 is U+2028'],
    ['a paragraph separator', pages({ 'login.heading': '\u2029a' }), 'and its character 1 is U+2029'],
    ['a change of direction', pages({ 'login.heading': 'a\u202eb' }), 'and its character 2 is U+202E'],
    [
      'a character of HTML by name',
      pages({ 'login.heading': 'You &amp; us' }),
      'has &amp;, which would be shown as it',
    ],
    ['a character of HTML by number', pages({ 'login.heading': 'A&#xa0;b' }), 'has &#xa0;, which would be shown as it'],
    ['HTML', pages({ 'login.heading': '<b>Hello</b>' }), 'en.pages["login.heading"] must be plain text'],
    [
      'a missing place',
      pages({ 'common.continueWith': 'Go on' }),
      'en.pages["common.continueWith"] lacks the placeholder {provider}',
    ],
    [
      'a place that is not known',
      mails({ 'new-device.subject': 'Hello {name} at {productName}' }),
      'en.mails["new-device.subject"] has the placeholder {name}, which is not known here. It can have: {productName}',
    ],
  ])('with %s are refused with their place', (_, file, sentence) => {
    expect(() => ownWordsIn(file, texts)).toThrow(sentence)
  })
})
