import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { designOf } from '../lib/design.js'
import { themeOf } from '../messages/layout.js'
import { type ConfigurationFaults, type Environment, likelyTypos, loadConfig, readConfig } from './config.js'
import { configurationGuide, environmentExample } from './guide.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const production = {
  NODE_ENV: 'production',
  PUBLIC_URL: 'https://app.example.com',
  TRUST_PROXY: '10.0.0.1',
  DATABASE_URL: 'postgres://app:pw@db.example.com/latchkey?sslmode=verify-full',
  REDIS_URL: 'rediss://cache.example.com',
  JWT_SECRET: secret,
  SMTP_URL: 'smtp://mail.example.com',
  MAIL_FROM: 'Example <no-reply@example.com>',
}

const faultsOf = (env: Environment) => {
  try {
    loadConfig(env)
    return []
  } catch (error) {
    return (error as ConfigurationFaults).faults
  }
}

describe('configuration', () => {
  it('says which file of a database address cannot be read', () => {
    const url = 'postgres://app:pw@db.example.com/latchkey?sslmode=verify-full&sslrootcert=/nowhere/authority.crt'
    expect(faultsOf({ DATABASE_URL: url })).toEqual([
      'DATABASE_URL: sslrootcert names a file that cannot be read: /nowhere/authority.crt (ENOENT)',
    ])
  })

  it('needs encryption to other machines in production, or an address that says that there is none', () => {
    const names = (settings: Environment) =>
      faultsOf({ ...production, ...settings }).map((fault) => fault.split(':')[0])
    const database = (options: string) => names({ DATABASE_URL: `postgres://app:pw@db.example.com/latchkey${options}` })
    expect(database('')).toEqual(['DATABASE_URL'])
    for (const mode of ['prefer', 'require']) expect(database(`?sslmode=${mode}`)).toEqual(['DATABASE_URL'])
    for (const mode of ['disable', 'no-verify', 'verify-ca', 'verify-full'])
      expect(database(`?sslmode=${mode}`)).toEqual([])
    expect(names({ DATABASE_OWNER_URL: 'postgres://127.0.0.1,db.example.com/latchkey' })).toEqual([
      'DATABASE_OWNER_URL',
    ])
    for (const here of [
      'postgres://app@127.0.0.1/x',
      'postgres://app@/x?host=/var/run/postgresql',
      'postgres://app@[::1]/x',
    ])
      expect(names({ DATABASE_URL: here })).toEqual([])
    for (const plain of ['redis://cache', 'redis://one,two', 'redis+sentinel://one/name'])
      expect(names({ REDIS_URL: plain })).toEqual(['REDIS_URL'])
    for (const fine of [
      'redis://localhost',
      'redis://[::1]:7000',
      'redis://cache?tls=off',
      'rediss+sentinel://one/name',
    ])
      expect(names({ REDIS_URL: fine })).toEqual([])
    const said = faultsOf({
      ...production,
      DATABASE_URL: 'postgres://app:pw@db.example.com/x',
      REDIS_URL: 'redis://:pw@c',
    })
    expect(said).toEqual([
      'DATABASE_URL: names another machine: add sslmode=verify-full, or sslmode=disable if the connection is not encrypted',
      'REDIS_URL: names another machine: write rediss://, or add ?tls=off if the connection is not encrypted',
    ])
    expect(faultsOf({ DATABASE_URL: 'postgres://app:pw@db.example.com/latchkey', REDIS_URL: 'redis://cache' })).toEqual(
      [],
    )
  })

  it('has the defaults of the specification', () => {
    expect(loadConfig({})).toMatchObject({
      nodeEnv: 'development',
      production: false,
      host: '127.0.0.1',
      port: 3000,
      publicUrl: 'http://localhost:3000',
      bcryptCost: 12,
      loginLimit: { maximum: 5, window: 900_000 },
      generalLimit: { maximum: 100, window: 900_000 },
      sensitiveLimit: { maximum: 3, window: 3_600_000 },
      refreshGrace: 30_000,
      sessionMaxAge: 365 * 86_400_000,
    })
  })

  it('takes shorter lifetimes of tokens for tests, and none in production', () => {
    const given = { ACCESS_TOKEN_LIFETIME: '2s', REFRESH_TOKEN_LIFETIME: '1m' }
    expect(loadConfig(given)).toMatchObject({ accessTokenLifetime: 2_000, refreshTokenLifetime: 60_000 })
    for (const lifetime of ['16m', '0s', '1500ms'])
      expect(() => loadConfig({ ACCESS_TOKEN_LIFETIME: lifetime })).toThrow('whole seconds, from 1s to 15m')
    for (const name of Object.keys(given))
      expect(() => loadConfig({ ...given, NODE_ENV: 'production' })).toThrow(`${name}: is for tests`)
  })

  it('takes words of the operator that are easy to guess', () => {
    expect(loadConfig({ PASSWORD_WORDS: 'acme, Widget Works,' }).passwordWords).toEqual(['acme', 'Widget Works'])
    expect(loadConfig({}).passwordWords).toEqual([])
    const words = 'PASSWORD_WORDS: must be words of 3 to 64 characters, separated by commas'
    expect(faultsOf({ PASSWORD_WORDS: 'acme,ab' })).toEqual([words])
    const many = Array.from({ length: 101 }, (_, at) => `word${at}`).join(',')
    expect(faultsOf({ PASSWORD_WORDS: many })).toEqual(['PASSWORD_WORDS: must be at most 100 words'])
  })

  it('takes a path of this site for the end of a sign-in, and not the login page', () => {
    expect(loadConfig({}).afterSignIn).toBe('/dashboard')
    expect(loadConfig({ AFTER_SIGN_IN: '/inbox?all=1#newest' }).afterSignIn).toBe('/inbox?all=1#newest')
    for (const refused of [
      'https://evil.example',
      '//evil.example',
      '/\\evil',
      'inbox',
      '/login',
      '/login/?x',
      '/x/../login',
    ]) {
      expect(faultsOf({ AFTER_SIGN_IN: refused }), refused).toEqual([
        'AFTER_SIGN_IN: must be a path of this site such as /dashboard, and not the login page',
      ])
    }
  })

  it('knows the application that the brand leads to, which is not the account page', () => {
    const homeWith = (settings: Environment) => themeOf(loadConfig(settings), designOf('#1f6f5c')).home
    expect(homeWith({})).toBeUndefined()
    for (const own of ['/dashboard', '/dashboard#password', '/dashboard/?x', '/api/auth/account-page'])
      expect(homeWith({ AFTER_SIGN_IN: own }), own).toBeUndefined()
    expect(homeWith({ AFTER_SIGN_IN: '/' })).toBe('/')
    expect(homeWith({ AFTER_SIGN_IN: '/dashboards' })).toBe('/dashboards')
    expect(homeWith({ HOME_URL: 'https://app.example.com', AFTER_SIGN_IN: '/' })).toBe('https://app.example.com')
  })

  it('is frozen', () => {
    expect(Object.isFrozen(loadConfig({}))).toBe(true)
  })

  it('starts in production with everything that production needs', () => {
    expect(loadConfig(production)).toMatchObject({ production: true, publicUrl: 'https://app.example.com' })
  })

  it.each(['PUBLIC_URL'] as const)('refuses production without %s', (name) => {
    expect(faultsOf({ ...production, [name]: undefined })).toEqual([`${name}: must be set in production`])
  })

  it('runs production without a mail server, and then nobody registers', () => {
    const withoutMail = { ...production, SMTP_URL: undefined, MAIL_FROM: undefined }
    expect(loadConfig(production)).toMatchObject({ mailIsOff: false, registration: 'open' })
    expect(loadConfig(withoutMail)).toMatchObject({ mailIsOff: true, registration: 'closed' })
    expect(loadConfig({ ...withoutMail, REGISTRATION: 'closed', MAIL_SIGN_IN: 'off' }).mailIsOff).toBe(true)
    expect(loadConfig({}).mailIsOff).toBe(false)
  })

  it.each([
    [
      'REGISTRATION',
      'open',
      'REGISTRATION: must be closed in production without SMTP_URL, because new addresses are confirmed by mail',
    ],
    [
      'REGISTRATION',
      'invited',
      'REGISTRATION: must be closed in production without SMTP_URL, because new addresses are confirmed by mail',
    ],
    ['MAIL_SIGN_IN', 'on', 'MAIL_SIGN_IN: must be off in production without SMTP_URL'],
  ])('refuses %s=%s in production without a mail server, in one sentence', (name, value, fault) => {
    expect(faultsOf({ ...production, SMTP_URL: undefined, [name]: value })).toEqual([fault])
    expect(faultsOf({ ...production, [name]: value })).toEqual([])
  })

  it('wants a sender as soon as there is a mail server', () => {
    expect(faultsOf({ ...production, MAIL_FROM: undefined })).toEqual([
      'MAIL_FROM: must be set in production with SMTP_URL',
    ])
  })

  it('starts in production without Redis, also with several processes', () => {
    expect(loadConfig({ ...production, REDIS_URL: undefined, WORKERS: '2' }).redisUrl).toBeUndefined()
  })

  it('starts in production without DATABASE_URL, and then needs no secret; with it, it needs one', () => {
    const own = { ...production, DATABASE_URL: undefined, JWT_SECRET: undefined }
    expect(loadConfig(own)).toMatchObject({ ownDatabase: true, jwtSecret: undefined })
    expect(faultsOf({ ...production, JWT_SECRET: undefined })).toEqual([
      'JWT_SECRET: must be set in production with DATABASE_URL',
    ])
  })

  it('starts in production without TRUST_PROXY; none is an answer', () => {
    expect(loadConfig({ ...production, TRUST_PROXY: undefined }).trustProxy).toBeUndefined()
    expect(loadConfig({ ...production, TRUST_PROXY: 'none' }).trustProxy).toEqual([])
    expect(loadConfig({ ...production, TRUST_PROXY: '10.0.0.0/8, fd00::1' }).trustProxy).toEqual([
      '10.0.0.0/8',
      'fd00::1',
    ])
  })

  it.each([
    '0.0.0.0/0',
    '10.0.0.0/7',
    '::/0',
    '2000::/3',
    'fd00::/15',
    '::ffff:0:0/96',
    '::ffff:10.0.0.0/103',
    '::/80',
    '10.0.0.1, 0.0.0.0/1',
  ])('refuses to trust nearly every address as a proxy: %s', (value) => {
    expect(faultsOf({ ...production, TRUST_PROXY: value })).toEqual([
      expect.stringMatching(/^TRUST_PROXY: must not trust nearly every address/),
    ])
  })

  it.each(['10.0.0.0/8', 'fd00::/16', '::ffff:10.0.0.0/104', '127.0.0.1', '::1'])('trusts %s', (value) => {
    expect(loadConfig({ ...production, TRUST_PROXY: value }).trustProxy).toEqual([value])
  })

  it.each([
    [{ PUBLIC_URL: 'https://app.example.com' }, 'PUBLIC_URL'],
    [{ HOST: '0.0.0.0' }, 'HOST'],
    [{ HOST: '::', PUBLIC_URL: 'http://192.168.1.7:3000' }, 'HOST and PUBLIC_URL'],
    [{ HOST: 'localhost.example.com' }, 'HOST'],
  ])('refuses %o outside production, unless that is wanted', (settings, names) => {
    expect(faultsOf(settings)).toEqual([
      `${names}: must be this machine (127.0.0.1, localhost) outside production: set NODE_ENV=production, or DEVELOPMENT_ON_NETWORK=true to try it out in a network that you trust`,
    ])
    expect(faultsOf({ ...settings, DEVELOPMENT_ON_NETWORK: 'true' })).toEqual([])
  })

  it.each([
    { HOST: 'localhost', PUBLIC_URL: 'https://localhost:8443' },
    { HOST: '127.0.0.2', PUBLIC_URL: 'http://127.0.0.2:3000' },
    { HOST: '::1', PUBLIC_URL: 'http://[::1]:3000' },
    { PUBLIC_URL: 'http://auth.localhost:3000' },
  ])('runs on this machine without further ado: %o', (settings) => {
    expect(faultsOf(settings)).toEqual([])
  })

  it('refuses production on plain http', () => {
    expect(faultsOf({ ...production, PUBLIC_URL: 'http://app.example.com' })).toEqual([
      'PUBLIC_URL: must begin with https:// in production',
    ])
  })

  it('refuses a provider on plain http in production, except on this machine', () => {
    const plain = { PROVIDER_A_ISSUER: 'http://id.example.com', PROVIDER_B_URL: 'http://git.example.com' }
    expect(faultsOf({ ...production, ...plain, PROVIDER_B_API_URL: 'http://git.example.com/api' })).toEqual([
      'PROVIDER_A_ISSUER: must begin with https:// in production',
      'PROVIDER_B_URL: must begin with https:// in production',
      'PROVIDER_B_API_URL: must begin with https:// in production',
    ])
    expect(faultsOf(plain)).toEqual([])
    for (const issuer of ['http://127.0.0.1:9000', 'http://[::1]:9000', 'https://id.example.com'])
      expect(faultsOf({ ...production, PROVIDER_A_ISSUER: issuer }), issuer).toEqual([])
  })

  it.each([
    ['a short secret', 'JWT_SECRET', 'short'],
    ['a repeated character', 'JWT_SECRET', 'a'.repeat(80)],
    ['a repeated word', 'JWT_SECRET', 'correcthorse'.repeat(8)],
    ['a well-known sample', 'JWT_SECRET', `${'your-secret-key-change-me-'.repeat(3)}xy`],
    ['a weak one among several', 'JWT_SECRET', `${secret},${'ab'.repeat(40)}`],
    ['a port that is none', 'PORT', '70000'],
    ['a port in words', 'PORT', 'three'],
    ['a limit without a window', 'LOGIN_LIMIT', '77'],
    ['a limit of zero', 'LOGIN_LIMIT', '0/15m'],
    ['a duration without a unit', 'REFRESH_GRACE', '77'],
    ['a grace that outlives a stolen token', 'REFRESH_GRACE', '61m'],
    ['the same after an access check', 'RENEW_GRACE', '2h'],
    ['a cost that is too low', 'BCRYPT_COST', '9'],
    ['an address with a path', 'PUBLIC_URL', 'https://example.com/auth'],
    ['an address with a password', 'PUBLIC_URL', 'https://ada:pw@example.com'],
    ['a proxy that is no address', 'TRUST_PROXY', 'everyone'],
    ['a list of no proxies', 'TRUST_PROXY', ',,'],
    ['a number of proxies', 'TRUST_PROXY', '2'],
    ['an address of three parts', 'TRUST_PROXY', '1.2.3'],
    ['a range of a short address', 'TRUST_PROXY', '10.1/16'],
    ['a sender without an at-sign', 'MAIL_FROM', 'somebody'],
    ['a sender whose address has no at-sign', 'MAIL_FROM', 'Latchkey <somebody>'],
    ['two senders', 'MAIL_FROM', 'one@b.example, two@b.example'],
    ['two senders with names', 'MAIL_FROM', 'A <one@b.example>, B <two@b.example>'],
    ['a header in the sender', 'MAIL_FROM', 'a@b.example\r\nBcc: c@d.example'],
    ['a header in the name of the sender', 'MAIL_FROM', 'A\r\nBcc: c@d.example <a@b.example>'],
    ['a logo without encryption', 'PRODUCT_LOGO_URL', 'http://cdn.example.com/logo.png'],
    ['a logo without a host', 'PRODUCT_LOGO_URL', 'https:///logo.png'],
    ['an application without encryption', 'HOME_URL', 'http://app.example.com'],
    ['a script for an application', 'HOME_URL', 'javascript:alert(1)'],
    ['a logo for the dark scheme without a host', 'PRODUCT_LOGO_DARK_URL', 'dark.png'],
    ['a word mark without a height', 'PRODUCT_LOGO_SIZE', '777'],
    ['a word mark without a width', 'PRODUCT_LOGO_SIZE', '0x77'],
    ['an icon of this machine', 'FAVICON_URL', 'file:///icon.png'],
    ['another database', 'DATABASE_URL', 'mysql://localhost/x'],
    ['another cache', 'REDIS_URL', 'memcached://localhost'],
    ['an unknown environment', 'NODE_ENV', 'staging'],
    ['a colour by name', 'ACCENT_COLOR', 'hotpink'],
  ])('refuses %s in one line that names the setting and not the value', (_, name, value) => {
    const faults = faultsOf({ [name]: value })
    expect(faults).toHaveLength(1)
    expect(faults[0]).toMatch(new RegExp(`^${name}: `))
    expect(faults[0]).not.toContain(value)
  })

  it.each([
    ['PRODUCT_LOGO_DARK_URL', '/dark.png', 'PRODUCT_LOGO_URL'],
    ['PRODUCT_LOGO_SIZE', '5x1', 'PRODUCT_LOGO_URL'],
    ['TERMS_VERSION', '1', 'TERMS_URL'],
  ])('refuses %s without the setting that it needs', (name, value, needed) => {
    expect(faultsOf({ [name]: value })).toEqual([expect.stringMatching(`^${name}: needs ${needed}, `)])
    expect(faultsOf({ [name]: value, [needed]: '/here' })).toEqual([])
  })

  it('tells all faults at once', () => {
    expect(faultsOf({ PORT: 'x', LOGIN_LIMIT: 'y', PROVIDER_A_CLIENT_ID: 'z' })).toHaveLength(3)
  })

  it('tells an empty ADMIN_GROUP, which switches administrators off, from none', () => {
    expect(loadConfig({}).adminGroup).toBeUndefined()
    for (const empty of ['', ' ']) expect(loadConfig({ ADMIN_GROUP: empty }).adminGroup).toBeNull()
    expect(loadConfig({ ADMIN_GROUP: 'admins' }).adminGroup).toBe('admins')
    expect(loadConfig({ SUPPORT_GROUP: 'helpdesk' }).supportGroup).toBe('helpdesk')
    expect(faultsOf({ ADMIN_GROUP: '', SUPPORT_GROUP: 'helpdesk' })).toEqual([
      'SUPPORT_GROUP: needs ADMIN_GROUP, which is empty',
    ])
    // The processes of WORKERS, and commands beside a service, get the settings as they were given.
    expect(readConfig({ ADMIN_GROUP: '' }).givenSettings).toEqual({ ADMIN_GROUP: '' })
  })

  it('takes a secret from a file', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'latchkey-')), 'secret')
    await writeFile(file, `${secret}\n`)
    expect(loadConfig({ JWT_SECRET_FILE: file }).jwtSecret).toEqual([secret])
    expect(faultsOf({ JWT_SECRET_FILE: file, JWT_SECRET: secret })).toEqual([
      'JWT_SECRET: is set twice: as JWT_SECRET and as JWT_SECRET_FILE',
    ])
    expect(faultsOf({ JWT_SECRET_FILE: `${file}.gone` })).toEqual([
      `JWT_SECRET: the file ${file}.gone cannot be read (there is no such file)`,
    ])
    expect(faultsOf({ JWT_SECRET_FILE: secret }).join()).not.toContain(secret)
  })

  const neededInProduction = ['PUBLIC_URL', 'JWT_SECRET']

  it.each(['', '\n', ' \r\n'])(
    'refuses an empty file for every setting, in production and elsewhere: %o',
    async (content) => {
      const file = join(await mkdtemp(join(tmpdir(), 'latchkey-')), 'empty')
      await writeFile(file, content)
      for (const name of neededInProduction) {
        const fault = [`${name}: the file ${file} is empty`]
        expect(faultsOf({ ...production, [name]: undefined, [`${name}_FILE`]: file })).toEqual(fault)
        expect(faultsOf({ [`${name}_FILE`]: file })).toEqual(fault)
      }
    },
  )

  it('takes white space for nothing, and a list of nothing for a fault', () => {
    for (const name of neededInProduction.filter((each) => each !== 'SMTP_URL'))
      expect(faultsOf({ ...production, [name]: ' ' }), name).toEqual([
        expect.stringMatching(`^${name}: must be set in production`),
      ])
    expect(faultsOf({ ...production, JWT_SECRET: ',' })).toEqual(['JWT_SECRET: must hold at least one secret'])
  })

  it('wants nothing that only one process can have when there are several', () => {
    expect(faultsOf({ WORKERS: '2' })).toEqual(['WORKERS: more than 1 needs NODE_ENV=production'])
    expect(faultsOf({ WORKERS: '2', NODE_ENV: 'test', PORT: '0' })).toEqual([
      'PORT: must not be 0 when WORKERS is more than 1',
    ])
    expect(faultsOf({ ...production, WORKERS: '2' })).toEqual([])
  })

  it('wants two ports for two servers', () => {
    expect(faultsOf({ PORT: '9000', METRICS_PORT: '9000' })).toEqual([
      'PORT and METRICS_PORT: must be two different ports',
    ])
  })

  it.each([
    'no-reply@example.com',
    'Example <no-reply@example.com>',
    '"Example, Inc." <a@b.example>',
    'Füchse <a@b.example>',
  ])('sends mails as %s', (from) => {
    expect(loadConfig({ MAIL_FROM: from }).mailFrom).toBe(from)
  })

  it.each([
    ['sslmode=perhaps', 'postgres://u:s3cret@h/x?sslmode=perhaps', /sslmode/],
    ['a port in words', 'postgres://u:s3cret@h:five/x', /port/],
    ['a port that is none', 'postgres://u:s3cret@h:70000/x', /port/],
    ['an @ in the password', 'postgres://u:s3cret@more@h/x', /%40/],
    ['a % in the password', 'postgres://u:s3cret%@h/x', /%25/],
    ['another scheme', 'mysql://u:s3cret@h/x', /postgres:\/\/user/],
  ])('says what is wrong with a database address: %s', (_, url, reason) => {
    const [fault = '', ...others] = faultsOf({ ...production, WORKERS: '2', DATABASE_URL: url })
    expect(others).toEqual([])
    expect(fault).toMatch(reason)
    expect(fault).not.toContain('s3cret')
  })

  it('points out settings that are nearly ours', () => {
    expect(likelyTypos({ DATABSE_URL: 'x', LATCHKEY_PORT: '1', HOME: '/', PATH: '/bin', PORT: '1' })).toEqual([
      'DATABSE_URL is not a setting; did you mean DATABASE_URL?',
      'LATCHKEY_PORT is not a setting; did you mean PORT?',
    ])
    expect(likelyTypos({ JWT_SECERT_FILE: '/x', SERVICE_KEYS_FILE: '/x', DATABASE_KEY_FILE: '/x' })).toEqual([
      'JWT_SECERT_FILE is not a setting; did you mean JWT_SECRET?',
    ])
  })
})

describe('the generated references', () => {
  const file = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

  it('docs/configuration.md is what the settings say: run npm run docs', async () => {
    expect(await file('docs/configuration.md')).toBe(configurationGuide())
  })

  it('.env.example is what the settings say: run npm run docs', async () => {
    expect(await file('.env.example')).toBe(environmentExample())
  })
})
