import { describe, expect, it } from 'vitest'
import { deviceName } from '../../contract/device-names.js'
import { type Language, languages } from '../../contract/languages.js'
import { timeSpan } from '../../contract/time-spans.js'
import { days, hours, minutes } from '../../lib/durations.js'
import { operatorClient } from '../sessions/client.js'
import { asHtml, asText, brandForMails } from './layout.js'
import type { MailKind, MailValues } from './letters.js'
import { wordsIn } from './words/words-in.js'
import { addressesOf, writeLetter } from './write-letter.js'

const site = { productName: 'Ada & Söhne <b>', addresses: addressesOf('https://auth.example.com/') }
const brand = { name: site.productName, accent: '#ffe066' }
const undo = { undoToken: 'factor-TOKEN', undoFor: 7 * days }
const values: MailValues = {
  'verify-email': { token: 'TOKEN', code: 'K7QP-2MXW', validFor: 24 * hours },
  'already-registered': {},
  invitation: { token: 'TOKEN', validFor: 7 * 24 * hours },
  'reset-password': { token: 'TOKEN', validFor: 30 * minutes, hasPassword: true },
  'password-changed': { username: '"><script>alert(1)</script>', ...undo },
  'password-reset': { username: "o'hara" },
  'enrolment-code': { username: 'ada', code: 'K7QP-2MXW', validFor: 10 * minutes },
  'step-up-code': { username: 'ada', code: 'K7QP-2MXW', validFor: 10 * minutes },
  'provider-unlinked': { username: 'ada', providerName: 'Google' },
  'new-device': { username: 'ada' },
  'device-trusted': { username: 'ada' },
  'session-stolen': { username: 'ada' },
  'sign-in-unfinished': { username: 'ada' },
  'language-changed': { username: 'ada', newLanguage: 'fr', ...undo },
  'provider-linked': { username: 'ada', providerName: 'Git<Hub', ...undo },
  'totp-added': { username: "o'hara", ...undo },
  'totp-removed': { username: 'ada' },
  'recovery-codes-renewed': { username: 'ada' },
  'recovery-code-used': { username: 'ada', left: 9 },
  'wrong-codes': { username: 'ada' },
  'passkey-added': { username: 'ada', passkeyName: '<b>Phone', ...undo },
  'passkey-removed': { username: 'ada', passkeyName: 'Phone' },
  'username-changed': {
    username: 'lovelace',
    formerUsername: 'ada',
    reservedFor: 30 * days,
    undoToken: 'TOKEN',
    undoFor: 7 * days,
  },
  'account-deleted': { username: 'ada', byOperator: false },
  'factors-reset': { username: 'ada' },
  'account-disabled': { username: 'ada' },
  'account-enabled': { username: 'ada' },
  'account-locked-down': { username: 'ada' },
  'admin-session-began': { username: 'ada' },
  'password-expired': { username: 'ada' },
  'confirm-email': { token: 'TOKEN', validFor: 24 * hours },
  'email-taken': {},
  'address-reserved': { reservedFor: 7 * days },
  'email-change-asked': { username: "o'hara", newEmail: 'ada@example.org', ...undo },
  'email-changed': { username: "o'hara", newEmail: 'ada@example.org', ...undo },
  'account-restored': { username: "o'hara", byOperator: false, token: 'TOKEN', validFor: 30 * minutes },
  'email-withdrawn': { username: "o'hara" },
}
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0'
const origin = { client: { ip: '192.0.2.1', userAgent: firefox }, at: new Date(0) }
const write = <Kind extends MailKind>(kind: Kind, language: Language, given = values[kind], by = origin) =>
  writeLetter({ kind, values: given, language, origin: by }, site)
const kinds = Object.keys(values) as MailKind[]
const cases = kinds.flatMap((kind) => languages.map((language) => ({ kind, language })))

describe.each(cases)('$kind in $language', ({ kind, language }) => {
  const letter = write(kind, language)
  const text = asText(letter)
  const html = asHtml(letter, brand, language)

  it('has a subject of one line that names the product', () => {
    expect(letter.subject).toContain(site.productName)
    expect(letter.subject).not.toMatch(/[\r\n]/)
  })

  it('has every link alone on its line, and the same links in both parts', () => {
    const links = letter.blocks.flatMap((block) => ('link' in block ? [block.link] : []))
    const withoutLinks: MailKind[] = ['step-up-code', 'account-deleted', 'account-disabled', 'account-locked-down']
    expect(links.length > 0).toBe(!withoutLinks.includes(kind))
    for (const link of links) {
      expect(text.split('\n')).toContain(link)
      expect(html).toContain(`href="${link}"`)
    }
    expect(text.match(/https?:/g) ?? []).toHaveLength(links.length)
    expect(text).not.toContain('undefined')
  })

  it('keeps a French sign of punctuation on the line of its word', () => {
    if (language === 'fr') expect(`${letter.subject}\n${text}`).not.toMatch(/ [?!:;»]|« /)
  })

  it('lets nothing from outside become markup', () => {
    expect(html).not.toMatch(/<script|<b>|Git<Hub|o'hara/)
    expect(html).toContain('Ada &amp; Söhne &lt;b&gt;')
    expect(html).not.toMatch(/\b(src|background-image|onclick)\b/)
  })
})

/** Everything of a letter that is written in its language. */
const wordsOf = (kind: MailKind, language: Language) => {
  const { subject, blocks, footer } = write(kind, language)
  const written = blocks.flatMap((block) => ('text' in block ? [block.text] : 'label' in block ? [block.label] : []))
  return [subject, ...written, footer]
}

describe.each(cases.filter(({ language }) => language !== 'en'))('$kind in $language', ({ kind, language }) => {
  it('is translated, not copied, with its times', () => {
    const [own, english] = [wordsOf(kind, language), wordsOf(kind, 'en')]
    expect(own.filter((text) => english.includes(text))).toEqual([])
    const spans = Object.entries(values[kind]).flatMap(([name, value]) => (/For$/.test(name) ? [Number(value)] : []))
    for (const span of spans) expect(own.join(' ')).toContain(timeSpan(span, language))
  })
})

describe('the look of a mail', () => {
  const letter = write('reset-password', 'en')

  it('has buttons in the accent colour, with a text that can be read on it', () => {
    expect(asHtml(letter, brand, 'en')).toMatch(/<a href="[^"]+" style="[^"]*background:#ffe066;color:#111413/)
  })

  it('begins with the mark: the first letter of the name, or the logo and nothing else from elsewhere', () => {
    const plain = asHtml(letter, brand, 'en')
    expect(plain).toMatch(/<span aria-hidden="true" style="[^"]*background:#ffe066[^"]*">A<\/span>/)
    const html = asHtml(letter, { ...brand, logoUrl: 'https://example.com/a.png?b="&c' }, 'en')
    expect(html.match(/\bsrc="[^"]*"/g)).toEqual(['src="https://example.com/a.png?b=&quot;&amp;c"'])
  })

  it.each([
    ['https://cdn.example.com/logo.png', 'https://cdn.example.com/logo.png'],
    ['/logo.png', 'https://auth.example.com/logo.png'],
    ['data:image/png;base64,AAAA', undefined],
    ['javascript:alert(1)', undefined],
    ['https://', undefined],
  ])('takes %s as the logo %s', (logoUrl, expected) => {
    expect(brandForMails({ ...brand, logoUrl }, 'https://auth.example.com').logoUrl).toBe(expected)
  })
})

describe('a mail with a way in', () => {
  it('carries the token in the fragment of our own address', () => {
    const verify = asText(write('verify-email', 'en'))
    const reset = asText(write('reset-password', 'en'))
    expect(verify).toContain('\nhttps://auth.example.com/verify-email#token=TOKEN\n')
    expect(verify).toContain('\nK7QP-2MXW\n')
    expect(reset).toContain('\nhttps://auth.example.com/reset-password#token=TOKEN\n')
  })

  it.each(languages)('speaks of no new password to a user who has none yet (%s)', (language) => {
    const wordsFor = (hasPassword: boolean) =>
      write('reset-password', language, { ...values['reset-password'], hasPassword })
    const [withPassword, without] = [wordsFor(true), wordsFor(false)]
    expect(without.subject).not.toBe(withPassword.subject)
    expect(without.blocks.map((block) => ('label' in block ? block.label : ''))).not.toEqual(
      withPassword.blocks.map((block) => ('label' in block ? block.label : '')),
    )
    expect(`${without.subject} ${asText(without)}`).not.toMatch(
      /new password|neues Passwort|nouveau mot de passe|reset the|zurücksetzen|réinit/i,
    )
  })

  it.each(languages)('has no code whose tries are used up (%s)', (language) => {
    const writtenWith = (code: string | undefined) =>
      asText(write('verify-email', language, { ...values['verify-email'], code }))
    expect(writtenWith('K7QP-2MXW')).toContain('\nK7QP-2MXW\n')
    expect(writtenWith(undefined)).toContain('#token=TOKEN\n')
    expect(writtenWith(undefined)).not.toMatch(/K7QP|undefined|Both work|Link und Code|le code sont valables/)
    expect(writtenWith(undefined).split('\n\n').at(-2)).not.toBe(writtenWith('K7QP-2MXW').split('\n\n').at(-2))
  })

  it.each(languages)('says "your account" only to a user who has one (%s)', (language) => {
    const strangers: MailKind[] = ['verify-email', 'invitation', 'confirm-email', 'email-taken', 'address-reserved']
    const footerOf = (kind: MailKind) => write(kind, language).footer
    const ofAccount = kinds.filter((kind) => footerOf(kind) === footerOf('new-device'))
    expect(ofAccount).toEqual(kinds.filter((kind) => !strangers.includes(kind) && kind !== 'account-deleted'))
    for (const kind of strangers) expect(footerOf(kind)).not.toMatch(/your account|Ihr Konto|votre compte/)
  })
})

describe('a mail about an account', () => {
  const strangers: MailKind[] = ['verify-email', 'already-registered', 'invitation', 'confirm-email', 'email-taken']
  const device = { browser: 'Firefox', system: 'Windows' }

  it.each(languages)('names device, place and time, in front of what to do about it (%s)', (language) => {
    for (const kind of kinds) {
      const { blocks } = write(kind, language)
      const lines = blocks.flatMap((block) => ('text' in block ? [block.text] : []))
      const line = lines.findIndex((text) => text.includes('192.0.2.1'))
      const isStranger = strangers.includes(kind) || kind === 'address-reserved' || kind === 'email-withdrawn'
      expect([kind, line]).toEqual([kind, isStranger ? -1 : 1])
      if (!isStranger) expect(lines[line]).toMatch(new RegExp(`${deviceName(device, wordsIn[language].devices)}.*1970`))
    }
  })

  it.each(languages)('says that an administrator did it (%s)', (language) => {
    const by = { client: operatorClient('root'), at: new Date(0) }
    const written = asText(write('email-changed', language, values['email-changed'], by))
    expect(written).toMatch(/admin/i)
    expect(written).not.toMatch(/root|command line|192\.0/)
  })

  it.each(languages)('names the username from before a change that can be undone (%s)', (language) => {
    const request = { language, origin, formerUsername: 'hanna' }
    const changed = writeLetter({ ...request, kind: 'totp-removed', values: { username: 'thief-of-hanna' } }, site)
    expect(asText(changed)).toMatch(/ hanna \(\S+ thief-of-hanna\) /)
    const same = writeLetter({ ...request, kind: 'totp-removed', values: { username: 'hanna' } }, site)
    expect(asText(same)).not.toMatch(/hanna \(/)
  })

  it.each(languages)(
    'shows the name of a passkey in quotation marks, and no program makes a link of it (%s)',
    (language) => {
      for (const name of ['https://evil.example/login', 'www.evil.example', 'evil.example', 'a@evil.example']) {
        const text = asText(write('passkey-added', language, { ...values['passkey-added'], passkeyName: name }))
        expect(text).not.toMatch(/evil\.example|www\.|https?:\/\/e|@evil/)
        expect(text.replaceAll('\u200b', '')).toMatch(new RegExp(`[“„«]\\s?${name.replaceAll('.', '\\.')}\\s?[”“»]`))
      }
    },
  )

  it('leads to the page that its words speak of', () => {
    const linkOf = (kind: MailKind) =>
      write(kind, 'en').blocks.flatMap((block) => ('link' in block ? [new URL(block.link).pathname] : []))
    expect(linkOf('email-withdrawn')).toEqual(['/forgot-password'])
    expect(linkOf('factors-reset')).toEqual(['/login'])
  })
})
