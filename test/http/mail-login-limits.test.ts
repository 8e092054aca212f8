import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hours, minutes } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { type Browser, createBrowser } from '../support/client.js'
import { type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'
import { createMailLogins, mailLogin, otherNetwork } from '../support/mail-login.js'

let latchkey: Latchkey
let logins: ReturnType<typeof createMailLogins>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { MAIL_SIGN_IN: 'on', LOGIN_LIMIT: '5/15m' } })
  logins = createMailLogins(latchkey)
})
afterAll(() => latchkey.stop())

const addressOf = (name: string) => `${name}@example.com`
const codeOf = ({ body }: { body: Record<string, unknown> }) => body.code
const idOf = async (name: string) => {
  const [row] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [name])
  return row?.id ?? ''
}

describe('the answer', () => {
  it('is the same for every address, and so is every refusal behind it', async () => {
    await latchkey.signedUp('same')
    await latchkey.signedUp('gone')
    const { operatorChanges } = latchkey.app.rooms
    await operatorChanges.disable({ userId: await idOf('gone'), client: { ip: 'command line', userAgent: '' } })
    for (let round = 0; round < 5; round++) await logins.ask(latchkey.browser(), addressOf('full'))
    const seen = []
    for (const who of ['same', 'fresh', 'gone', 'full']) {
      const tab = latchkey.browser()
      const asked = await logins.ask(tab, addressOf(who))
      const headers = [...asked.headers.keys()].filter((name) => !['date', 'x-request-id'].includes(name)).sort()
      const cookies = asked.setCookies.map((line) => line.replace(/=[\w-]{43};/, '=VALUE;'))
      const refusals = []
      for (let round = 0; round < 6; round++) {
        const { status, text } = await logins.confirm(tab, { code: 'AAAA-AAAA' })
        refusals.push([status, text])
      }
      seen.push({ status: asked.status, text: asked.text, headers, cookies, refusals })
    }
    expect(seen[0]).toMatchObject({
      status: 202,
      cookies: ['attempt_mail=VALUE; Max-Age=600; Path=/; HttpOnly; SameSite=Strict'],
    })
    for (const other of seen.slice(1)) expect(other).toEqual(seen[0])
    // The owner reads that it is not possible, once a day.
    await logins.ask(latchkey.browser(), addressOf('gone'))
    await logins.mailed(addressOf('same'))
    expect(
      latchkey
        .mails()
        .filter(({ to, subject }) => to === addressOf('gone') && subject.startsWith('You cannot sign in')),
    ).toHaveLength(1)
  })

  it('refuses what is no address', async () => {
    const refused = await logins.ask(latchkey.browser(), 'no address')
    expect([refused.status, codeOf(refused)]).toEqual([400, 'email_shape'])
  })
})

describe('the limits', () => {
  const mailsTo = (address: string) => latchkey.mails().filter(({ to }) => to === address).length

  it('a mailbox gets five mails an hour, however it is spelled, and the last code stays good', async () => {
    await latchkey.advance(1 * hours)
    const browsers = []
    for (const spelling of ['max', 'MAX', 'max+a', 'max+b', 'max'])
      browsers.push(await logins.mailed(`${spelling}@example.com`))
    const last = browsers.at(-1)
    const sixth = await logins.ask(last?.tab ?? latchkey.browser(), 'Max@example.com')
    const seventh = await logins.ask(latchkey.browser(), 'max+c@example.com')
    expect([sixth.status, seventh.status]).toEqual([202, 202])
    // The mail of a later request would have come before this one.
    await logins.mailed(addressOf('max-other'))
    expect(mailsTo('max+c@example.com')).toBe(0)
    expect((await logins.confirm(last?.tab ?? latchkey.browser(), { code: last?.code })).status).toBe(202)
    await latchkey.advance(1 * hours)
    await logins.mailed('max@example.com')
  })

  it('a known device has five of its own, which others cannot use up', async () => {
    const owner = await latchkey.signedUp('nell')
    await owner.act('/api/auth/logout')
    for (let round = 0; round < 6; round++) await logins.ask(latchkey.browser(), addressOf('nell'))
    for (let round = 0; round < 5; round++) await logins.mailed(addressOf('nell'), owner)
    const count = mailsTo(addressOf('nell'))
    await logins.ask(owner, addressOf('nell'))
    await logins.mailed(addressOf('nell-other'))
    expect(mailsTo(addressOf('nell'))).toBe(count)
  })

  it('a network causes ten mails an hour', async () => {
    const network = otherNetwork()
    for (let round = 0; round < 12; round++)
      expect((await logins.ask(latchkey.browser(), addressOf(`flood-${round}`), network)).status).toBe(202)
    await logins.mailed(addressOf('flood-end'))
    expect(Array.from({ length: 12 }, (_, round) => mailsTo(addressOf(`flood-${round}`)))).toEqual([
      ...Array(10).fill(1),
      0,
      0,
    ])
  })

  it('wrong codes count by network, also those of many browsers, and are 25 an hour for a mailbox', async () => {
    await latchkey.signedUp('olga')
    const network = otherNetwork()
    const answers = []
    for (let round = 0; round < 7; round++) {
      const tab = latchkey.browser()
      await logins.ask(tab, addressOf('olga'))
      answers.push((await logins.confirm(tab, { code: 'AAAA-AAAA' }, network)).status)
    }
    expect(answers).toEqual([401, 401, 401, 401, 401, 429, 429])
    const [row] = await latchkey.sql.query<{ guesses: number }>(
      'select sum(tries_left)::int + 5 as guesses from mail_sign_ins where user_id = $1',
      [await idOf('olga')],
    )
    // Five mails with five tries each, five of which were used. Rows without a mail open nothing.
    expect(row?.guesses).toBe(25)
  })
})

/** Another instance on the same stores. */
const withSettings = async (settings: Partial<Latchkey['config']>, work: (tab: () => Browser) => Promise<void>) => {
  const { clock, config } = latchkey
  const options = { clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) }
  const other = await startApp({ ...config, ...settings, port: 0 }, options)
  try {
    await work(() => createBrowser(`http://localhost:${other.config.port}`))
  } finally {
    await other.close()
  }
}
const ofThisSite = () => ({ headers: { origin: latchkey.url }, address: otherNetwork() })

describe('the gates of registration', () => {
  /** The mail may be sent, and shown, by either instance. */
  const kindsTo = async (address: string) =>
    (
      await latchkey.sql.query<{ kind: string }>('select kind from outgoing_mail where recipient = $1 order by id', [
        address,
      ])
    ).map(({ kind }) => kind)

  it.each<[string, Partial<Latchkey['config']>]>([
    ['closed', { registration: 'closed' }],
    ['invited', { registration: 'invited' }],
    ['for other domains', { registrationDomains: ['example.org'] }],
  ])('who may not register where it is %s gets a mail that says so, and the same answer', async (what, settings) => {
    const name = what.replaceAll(' ', '-')
    await latchkey.signedUp(`member-${name}`)
    await withSettings(settings, async (browser) => {
      const ask = (who: string) => browser().post(mailLogin, { email: addressOf(who) }, ofThisSite())
      const [member, stranger] = [await ask(`member-${name}`), await ask(`stranger-${name}`)]
      expect([stranger.status, stranger.text]).toEqual([member.status, member.text])
      expect(await kindsTo(addressOf(`member-${name}`))).toContain('mail-sign-in')
      expect(await kindsTo(addressOf(`stranger-${name}`))).toEqual(['no-mail-sign-in'])
    })
  })

  it('an invitation of the address is enough, and is used up with the account', async () => {
    const { invitations, mailedCodes } = latchkey.app.rooms
    const address = addressOf('invitee')
    await invitations.invite({ email: address, key: address }, { ip: 'command line', userAgent: '' })
    await withSettings({ registration: 'invited' }, async (browser) => {
      const tab = browser()
      const post = (path: string, body: object) => tab.post(path, body, ofThisSite())
      await post(mailLogin, { email: address })
      const [row] = await latchkey.sql.query<{ id: string }>('select id from mail_sign_ins where email = $1', [address])
      const asked = await post(`${mailLogin}/confirm`, { code: mailedCodes.codeOf(row?.id ?? '') })
      expect([asked.status, asked.body.username]).toEqual([202, 'invitee'])
      expect((await post(`${mailLogin}/registration`, { username: 'invitee' })).status).toBe(200)
    })
    expect(await latchkey.sql.query('select 1 from invitations where email_key = $1', [address])).toEqual([])
  })
})

describe('what a browser can try', () => {
  const ask = (tab: Browser, who: string) => tab.post(mailLogin, { email: addressOf(who) }, ofThisSite())
  const confirm = async (tab: Browser, code: string) =>
    codeOf(await tab.post(`${mailLogin}/confirm`, { code }, ofThisSite())) ?? 'signed in'
  const guess = async (tab: Browser, times: number) => {
    const answers = []
    for (let round = 0; round < times; round++) answers.push(await confirm(tab, 'AAAA-AAAA'))
    return answers
  }
  /** The code that the user reads in the mail, whichever instance sends it. */
  const mailedCode = async (who: string) => {
    const [row] = await latchkey.sql.query<{ id: string }>(
      'select id from mail_sign_ins where user_id = $1 order by code_expires_at desc limit 1',
      [await idOf(who)],
    )
    return latchkey.app.rooms.mailedCodes.codeOf(row?.id ?? '')
  }
  const wrong = (times: number) => Array(times).fill('wrong_mailed_code')

  it.each<[string, (work: (browser: () => Browser) => Promise<void>) => Promise<void>]>([
    ['open', (work) => work(() => latchkey.browser())],
    ['invited', (work) => withSettings({ registration: 'invited' }, work)],
  ])('shows neither an account nor a limit, where registration is %s', async (gate, at) => {
    await latchkey.advance(1 * hours)
    const whats = ['account', 'none', 'disabled', 'full', 'full-none']
    const client = { ip: 'command line', userAgent: '' }
    // Before the other instance runs, which may send the mails of a registration.
    const prepare = async (what: string) => {
      const name = `${gate}-${what}`
      await latchkey.signedUp(`${name}-own`)
      if (!what.endsWith('none')) await latchkey.signedUp(name)
      if (what === 'disabled') await latchkey.app.rooms.operatorChanges.disable({ userId: await idOf(name), client })
    }
    await Promise.all(whats.map(prepare))
    const tryAll = async (browser: () => Browser, what: string) => {
      const [name, own] = [`${gate}-${what}`, `${gate}-${what}-own`]
      // The mail that it cannot be used here is sent once, the others five times.
      for (let round = 0; round < (what.startsWith('full') ? 5 : 1); round++) await ask(browser(), name)
      const tab = browser()
      await ask(tab, own)
      const code = await mailedCode(own)
      await ask(tab, name)
      const afterOwn = await confirm(tab, code)

      const other = browser()
      await ask(other, name)
      const four = await guess(other, 4)
      await ask(other, name)
      return { what, afterOwn, tries: [...four, ...(await guess(other, 6))] }
    }
    const tries = [...wrong(8), 'mailed_code_void', 'mailed_code_void']
    await at(async (browser) =>
      expect(await Promise.all(whats.map((what) => tryAll(browser, what)))).toEqual(
        whats.map((what) => ({ what, afterOwn: 'wrong_mailed_code', tries })),
      ),
    )
  })

  it('shows no limit that others have reached meanwhile, and a code gets neither tries nor time by it', async () => {
    await latchkey.advance(1 * hours)
    await latchkey.signedUp('meanwhile')
    const [tab, early, late] = [latchkey.browser(), latchkey.browser(), latchkey.browser()]
    const codes = []
    for (const each of [tab, early, late]) {
      await ask(each, 'meanwhile')
      codes.push(await mailedCode('meanwhile'))
      await latchkey.advance(1)
    }
    for (let round = 0; round < 2; round++) await ask(latchkey.browser(), 'meanwhile')
    // Five guesses, whatever is asked for between them.
    expect(await guess(tab, 3)).toEqual(wrong(3))
    await ask(tab, 'meanwhile')
    expect(await guess(tab, 2)).toEqual(wrong(2))
    expect(await confirm(tab, codes[0] ?? '')).toEqual('wrong_mailed_code')
    // Four wrong codes are not too many.
    await guess(early, 4)
    await ask(early, 'meanwhile')
    expect(await confirm(early, codes[1] ?? '')).toEqual('signed in')
    // Ten minutes, also if the answers begin anew after nine.
    await latchkey.advance(9 * minutes)
    await ask(late, 'meanwhile')
    await latchkey.advance(2 * minutes)
    expect(await confirm(late, codes[2] ?? '')).toEqual('wrong_mailed_code')
  })
})

it('is not there while MAIL_SIGN_IN is off', () =>
  withSettings({ mailSignIn: 'off' }, async (browser) => {
    const { status } = await browser().post(mailLogin, { email: 'ada@example.com' }, ofThisSite())
    expect(status).toBe(404)
    expect((await browser().get('/login')).text).not.toContain('"mailSignIn":true')
  }))
