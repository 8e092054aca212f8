import { describe, expect, it } from 'vitest'
import { deviceName } from '../contract/device-names.js'
import { type Language, languages } from '../contract/languages.js'
import { timeSpan } from '../contract/time-spans.js'
import { operatorClient } from '../http/request-origin.js'
import { designOf } from '../lib/design.js'
import { colours } from '../lib/design-tokens.js'
import { asHtml, asText, brandForMails } from './layout.js'
import { createPageAddress, type MailKind, type MailValues } from './letters.js'
import { mailExamples, mailKinds } from './mail-preview.js'
import { mailTexts, mailWordsWith } from './own-mail-words.js'
import { wordsIn } from './words/words-in.js'
import { writeLetter } from './write-letter.js'

const site = { productName: 'Ada & Söhne <b>', pageAddress: createPageAddress('https://auth.example.com/') }
const brand = { name: site.productName, design: designOf('#ffe066') }
const ohara = { username: "o'hara" }
const values: MailValues = {
  ...mailExamples,
  'password-changed': { ...mailExamples['password-changed'], username: '"><script>alert(1)</script>' },
  'password-reset': ohara,
  'provider-linked': { ...mailExamples['provider-linked'], providerName: 'Git<Hub' },
  'totp-added': { ...mailExamples['totp-added'], ...ohara },
  'passkey-added': { ...mailExamples['passkey-added'], passkeyName: '<b>Phone' },
  'email-change-asked': { ...mailExamples['email-change-asked'], ...ohara },
  'email-changed': { ...mailExamples['email-changed'], ...ohara },
  'account-restored': { ...mailExamples['account-restored'], ...ohara },
  'email-withdrawn': ohara,
}
const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0'
const origin = { client: { ip: '192.0.2.1', userAgent: firefox }, at: new Date(0) }
const write = <Kind extends MailKind>(kind: Kind, language: Language, given = values[kind], by = origin) =>
  writeLetter({ kind, values: given, language, origin: by }, site)
/** Other values, with which the mail says something else. */
const variantsOf = <Kind extends MailKind>(kind: Kind): MailValues[Kind][] => {
  const given = values[kind]
  const others = [{ hasPassword: false }, { byOperator: true }, { invitedBy: undefined }, { resourceName: undefined }]
  // The other mails with a code are about it.
  const withoutCode = kind === 'verify-email' ? [{ code: undefined }] : []
  return [...others, ...withoutCode]
    .filter((other) => Object.keys(other).every((name) => name in given))
    .map((other) => ({ ...given, ...other }))
}
const kinds = mailKinds
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
    const withoutLinks: MailKind[] = [
      'step-up-code',
      'no-mail-sign-in',
      'account-deleted',
      'account-disabled',
      'account-locked-down',
    ]
    expect(links.length > 0).toBe(!withoutLinks.includes(kind))
    for (const link of links) {
      expect(text.split('\n')).toContain(link)
      expect(html).toContain(`href="${link}"`)
    }
    expect(text.match(/https?:/g) ?? []).toHaveLength(links.length)
    expect(text).not.toContain('undefined')
  })

  it('says the same with its own texts in their places', () => {
    const own = { ...site, words: mailWordsWith(mailTexts()) }
    for (const given of [values[kind], ...variantsOf(kind)]) {
      const order = { kind, values: given, language, origin }
      expect(writeLetter(order, own)).toEqual(writeLetter(order, site))
    }
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
    expect(asHtml(letter, brand, 'en')).toMatch(
      /<a href="[^"]+" class="fill" style="[^"]*background:#ffe066;color:#111413/,
    )
  })

  it('has its subject as the heading, and its first sentence as the preview, which ends before a code', () => {
    const code = write('step-up-code', 'en')
    const html = asHtml(code, brand, 'en')
    const [, hidden = ''] = /<div style="display:none[^"]*">(.*)<\/div>/.exec(html) ?? []
    const [first] = code.blocks
    expect(html.match(/<h1[^>]*>([^<]*)<\/h1>/)?.[1]).toBe('Your code for Ada &amp; Söhne &lt;b&gt;: K7QP-2MXW')
    expect(first && 'text' in first && hidden.startsWith(first.text.slice(0, 20))).toBe(true)
    expect(hidden).not.toContain('K7QP')
  })

  it('is dark on a dark screen, with the colours of both schemes that can be read', () => {
    const html = asHtml(letter, brand, 'en')
    const [, dark = ''] = /@media \(prefers-color-scheme:dark\)\{(.*)\}<\/style>/.exec(html) ?? []
    expect(html).toContain('<meta name="color-scheme" content="light dark">')
    for (const look of [colours.dark.background, colours.dark.text, colours.dark.surface, colours.dark.muted])
      expect(dark).toContain(`${look}!important`)
    expect(html).toContain(`background:${colours.light.background};color:${colours.light.text}`)
  })

  it('begins with the mark: the first letter of the name, or the logo and nothing else from elsewhere', () => {
    const plain = asHtml(letter, brand, 'en')
    expect(plain).toMatch(/<span aria-hidden="true" class="fill" style="[^"]*background:#ffe066[^"]*">A<\/span>/)
    const html = asHtml(letter, { ...brand, logo: { address: 'https://example.com/a.png?b="&c' } }, 'en')
    expect(html.match(/\bsrc="[^"]*"/g)).toEqual(['src="https://example.com/a.png?b=&quot;&amp;c"'])
  })

  it('has a word mark in the place of the name, which its readers hear', () => {
    const logo = { address: 'https://example.com/word.png', size: { width: 500, height: 100 } }
    const html = asHtml(letter, { ...brand, logo }, 'en')
    expect(html).toContain('alt="Ada &amp; Söhne &lt;b&gt;" width="160" height="32"')
    expect(html.match(/>Ada &amp; Söhne &lt;b&gt;</g)).toBeNull()
    const both = brandForMails({ ...brand, logo: { ...logo, darkAddress: '/dark.png' } }, 'https://auth.example.com')
    expect(asHtml(letter, both, 'en')).toContain(
      '<picture><source srcset="https://auth.example.com/dark.png" media="(prefers-color-scheme: dark)"><img',
    )
  })

  it.each([
    ['https://cdn.example.com/logo.png', 'https://cdn.example.com/logo.png'],
    ['/logo.png', 'https://auth.example.com/logo.png'],
    ['data:image/png;base64,AAAA', undefined],
    ['javascript:alert(1)', undefined],
    ['https://', undefined],
  ])('takes %s as the logo %s', (address, expected) => {
    expect(brandForMails({ ...brand, logo: { address } }, 'https://auth.example.com').logo?.address).toBe(expected)
  })
})

describe('a mail with words of the operator', () => {
  const own = {
    'new-device.happened': 'Hello {username}, a new device at {productName}',
    undo: 'Undo within {undoFor}:',
  }
  const others = {
    'reset-password.subject.withoutPassword': 'Your first password at {productName}',
    'labels.login': 'In',
    'links.support': 'Ask us',
    byClient: 'From {ip} with {device} ({time})',
  }
  const words = mailWordsWith({ en: { ...own, ...others } })
  const written = <Kind extends MailKind>(kind: Kind, given = values[kind], language: Language = 'en') =>
    writeLetter({ kind, values: given, language, origin }, { ...site, words })

  it('has them in their places, and those of the service everywhere else', () => {
    expect(written('new-device').blocks[0]).toEqual({ text: `Hello ada, a new device at ${site.productName}` })
    const origin = /^From 192\.0\.2\.1 with Firefox on Windows \(1 January 1970 at /
    expect(written('new-device').blocks[1]).toEqual({ text: expect.stringMatching(origin) })
    expect(written('new-device').blocks.slice(2)).toEqual(write('new-device', 'en').blocks.slice(2))
    expect(written('new-device', values['new-device'], 'de')).toEqual(write('new-device', 'de'))
    expect(asText(written('totp-added'))).toContain('\nUndo within 7 days:\n')
    expect(written('email-taken').blocks).toContainEqual({ link: 'https://auth.example.com/login', label: 'In' })
    const reset = values['reset-password']
    expect(written('reset-password', reset).subject).toBe(write('reset-password', 'en').subject)
    expect(written('reset-password', { ...reset, hasPassword: false }).subject).toMatch(/^Your first password at /)
  })

  it('has them below the mail, where the text part shows an address without its scheme', () => {
    const links = { terms: 'https://example.com/terms', support: 'mailto:help@example.com?subject=Account' }
    const order = { kind: 'new-device', values: values['new-device'], language: 'en', origin } as const
    const letter = writeLetter(order, { ...site, links, words })
    expect(asText(letter)).toMatch(/\nTerms <https:\/\/example\.com\/terms>\nAsk us <help@example\.com>$/)
    expect(asHtml(letter, brand, 'en')).toMatch(/<a href="mailto:help@example\.com\?subject=Account"[^>]*>Ask us<\/a>/)
  })

  it('takes a name for a name, and not for a place', () => {
    expect(asText(written('new-device', { username: '{productName}' }))).toMatch(/^Hello \{productName\},/)
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
    const strangers: MailKind[] = [
      'verify-email',
      'mail-sign-up',
      'no-mail-sign-in',
      'invitation',
      'confirm-email',
      'email-taken',
      'address-reserved',
    ]
    const footerOf = (kind: MailKind) => write(kind, language).footer
    const ofAccount = kinds.filter((kind) => footerOf(kind) === footerOf('new-device'))
    expect(ofAccount).toEqual(kinds.filter((kind) => !strangers.includes(kind) && kind !== 'account-deleted'))
    for (const kind of strangers) expect(footerOf(kind)).not.toMatch(/your account|Ihr Konto|votre compte/)
  })
})

describe('a mail that tells to ask the administrator', () => {
  const linesWith = (kind: MailKind, language: Language, support?: string) => {
    const letter = writeLetter(
      { kind, values: values[kind], language, origin },
      { ...site, ...(support !== undefined && { links: { support } }) },
    )
    return { text: asText(letter).split('\n-- ')[0] ?? '', html: asHtml(letter, brand, language) }
  }

  it.each(languages)('says where, if SUPPORT_URL says it (%s)', (language) => {
    const telling = kinds.filter((kind) => /(ask|tell) the administrator\b/i.test(linesWith(kind, 'en').text))
    const { help } = wordsIn[language]
    const helping = kinds.filter((kind) =>
      linesWith(kind, language, 'mailto:help@example.com?subject=Account').text.includes(
        `\n${help}\n\nhelp@example.com\n`,
      ),
    )
    expect(helping).toEqual(telling)
    expect(helping).toEqual(expect.arrayContaining(['account-disabled', 'account-locked-down', 'account-deleted']))
    const { text, html } = linesWith('account-disabled', language, 'https://example.com/help?a=1&b=2')
    expect(text).toContain(`\n${help}\n\nhttps://example.com/help?a=1&b=2\n`)
    expect(html).toContain('<a href="https://example.com/help?a=1&amp;b=2">https://example.com/help?a=1&amp;b=2</a>')
  })

  it('says not a word more without it', () => {
    expect(kinds.filter((kind) => linesWith(kind, 'en').text.includes(wordsIn.en.help))).toEqual([])
  })
})

describe('a mail about an account', () => {
  const strangers: MailKind[] = ['verify-email', 'already-registered', 'confirm-email', 'email-taken']
  /** They name who invites. */
  const invitations: readonly MailKind[] = ['invitation', 'group-invitation']
  const device = { browser: 'Firefox', system: 'Windows' }

  it.each(languages)('names device, place and time, in front of what to do about it (%s)', (language) => {
    for (const kind of kinds) {
      const { blocks } = write(kind, language)
      const lines = blocks.flatMap((block) => ('text' in block ? [block.text] : []))
      const line = lines.findIndex((text) => text.includes('192.0.2.1'))
      const isStranger =
        [...strangers, ...invitations].includes(kind) || kind === 'address-reserved' || kind === 'email-withdrawn'
      const isAsker = kind === 'mail-sign-up' || kind === 'no-mail-sign-in'
      expect([kind, line]).toEqual([kind, isStranger || isAsker ? -1 : 1])
      if (isAsker) expect(lines[1]).toMatch(/Firefox .* Windows.*1970/)
      if (isAsker) continue
      // A program names itself as it likes.
      const hasDevice = !isStranger && kind !== 'new-program'
      if (hasDevice) expect(lines[line]).toMatch(new RegExp(`${deviceName(device, wordsIn[language].devices)}.*1970`))
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
