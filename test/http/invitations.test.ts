import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { days, hours } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { readEmail } from '../../src/users/names.js'
import { type Answer, type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'
import {
  comeBack,
  goToProvider,
  signInWith,
  startProviders,
  startService,
  type TestProviders,
  usersOf,
} from '../support/providers/test-providers.js'
import { until } from '../support/until.js'

const emailOf = (address: string) => {
  const email = readEmail(address)
  if (isRefused(email)) throw new Error(`${address} is no address`)
  return email
}

let turn = 0
const actionsAt = (latchkey: () => Latchkey) => {
  const nouns = () => latchkey().app.rooms
  return {
    invite: async (address: string) => {
      const made = await nouns().invitations.invite(emailOf(address), operatorClient('root'))
      if (isRefused(made)) throw new Error(`${address} has an account`)
      return made.token
    },
    revoke: (address: string) => nouns().invitations.revoke(emailOf(address), operatorClient('root')),
    register: (email: string, invite?: unknown, tab = latchkey().browser()) => {
      turn += 1
      return tab.post('/api/auth/register', { username: `user${turn}`, email, password: goodPassword, invite })
    },
    /** Opens the link of the mail for the registration of this browser. Other mails to the address may come before it. */
    confirm: async (email: string, tab: Browser) => {
      const isMine = (answer: Answer) => answer.body.code !== 'password_required'
      const answers: Answer[] = []
      await until(`a mail for the registration of ${email}`, async () => {
        const mails = latchkey()
          .mails()
          .filter(({ to, subject }) => to === email && /^Confirm/.test(subject))
        for (const { text } of mails)
          if (!answers.some(isMine))
            answers.push(await tab.post('/api/auth/verify-email', { token: /#token=([\w-]+)/.exec(text)?.[1] }))
        return answers.some(isMine)
      })
      return answers.find(isMine)
    },
    addAccount: (email: string) =>
      latchkey().sql.query(
        `insert into users (id, email, email_key, username, username_key, created_at) values ($1, $2, $2, $3, $3, now())`,
        [crypto.randomUUID(), email, `account-${email.split('@')[0]}`],
      ),
    accountsOf: async (email: string) =>
      (await usersOf(latchkey())).filter((user) => user.email.toLowerCase() === email).length,
    openInvitations: async () => (await nouns().invitations.listOpen()).map(({ email }) => email),
  }
}

describe('where registration is closed', () => {
  let latchkey: Latchkey
  let providers: TestProviders
  beforeAll(async () => {
    providers = await startProviders()
    latchkey = await startService(providers, { REGISTRATION: 'closed' })
  })
  afterAll(async () => {
    await latchkey?.stop()
    await providers?.close()
  })
  const { invite, revoke, register, confirm, addAccount, accountsOf, openInvitations } = actionsAt(() => latchkey)

  it('an invitation opens it for one address, once; the address is proven as usual', async () => {
    const invite1 = await invite('ada@example.com')
    expect(await openInvitations()).toEqual(['ada@example.com'])
    const stored = await latchkey.sql.query<{ row: string }>('select invitations::text as row from invitations')
    expect(JSON.stringify(stored)).not.toContain(invite1)
    const check = await latchkey.browser().post('/api/auth/invite/check', { token: invite1 })
    const shown = {
      email: 'ada@example.com',
      provesAddress: false,
      printed: false,
      groups: [],
      invitedBy: null,
      returnTo: null,
    }
    expect([check.status, check.body]).toEqual([200, { ...shown, next: 'register' }])

    const tab = latchkey.browser()
    expect((await register('Ada@Example.com', invite1, tab)).status).toBe(202)
    expect(await accountsOf('ada@example.com')).toBe(0)
    // The invitation is not used up before there is an account: the mail may never arrive.
    expect((await register('ada@example.com', invite1)).status).toBe(202)
    expect((await register('ada@example.com', invite1, tab)).status).toBe(202)
    expect((await confirm('ada@example.com', tab))?.status).toBe(200)
    expect(await openInvitations()).toEqual([])
    expect((await register('ada@example.com', invite1)).body.code).toBe('invalid_invitation')
    expect(
      await latchkey.sql.query("select user_id is null as anonymous from events where kind = 'invitation_used'"),
    ).toEqual([{ anonymous: false }])
  })

  /** Two tokens for one invitation: of the link that the operator gets, and of the mailed link. */
  const mailedTo = async (address: string) => {
    const operators = await invite(address)
    const { text } = await latchkey.mailTo(address, /invite#/)
    return { operators, mailed: /#token=([\w-]+)/.exec(text)?.[1] ?? '' }
  }
  const confirmations = (address: string) =>
    latchkey.sql.query(`select 1 from outgoing_mail where kind = 'verify-email' and recipient = $1`, [address])
  const signingIn = (body: object, tab = latchkey.browser()) =>
    tab.post('/api/auth/register', { password: goodPassword, signIn: true, ...body })
  const provesAddress = async (token: string) =>
    (await latchkey.browser().post('/api/auth/invite/check', { token })).body.provesAddress

  it('the link of its mail proves the address: one of twenty at two instances makes the account and is signed in', async () => {
    const email = 'nia@example.com'
    const { operators, mailed } = await mailedTo(email)
    expect(mailed).not.toBe(operators)
    expect([await provesAddress(mailed), await provesAddress(operators)]).toEqual([true, false])
    await addAccount('taken@example.com')
    const taken = await signingIn({ username: 'account-taken', email, invite: mailed })
    expect([taken.status, taken.body.code]).toEqual([409, 'username_taken'])

    const other = await startApp(
      { ...latchkey.config, port: 0 },
      { clock: latchkey.clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) },
    )
    const headers = { origin: latchkey.url }
    const tabs = Array.from({ length: 20 }, (_, at) => createBrowser(at % 2 ? latchkey.url : other.config.publicUrl))
    const body = { email, invite: mailed, password: goodPassword, signIn: true }
    const answers = await Promise.all(
      tabs.map((tab, at) => tab.post('/api/auth/register', { ...body, username: `nia${at}` }, { headers })),
    ).finally(() => other.close())
    const winner = answers.findIndex(({ status }) => status === 200)
    for (const [at, { status, body: answered, setCookies }] of answers.entries()) {
      if (at === winner) continue
      expect([403, 409]).toContain(status)
      expect(['invalid_invitation', 'already_registered']).toContain(answered.code)
      expect(setCookies).toEqual([])
    }
    expect(answers[winner]?.body).toMatchObject({ user: { email, username: `nia${winner}` } })
    const nia = createBrowser(latchkey.url, tabs[winner]?.jar)
    expect((await nia.get('/api/auth/me')).status).toBe(200)
    expect(await confirmations(email)).toEqual([])
    expect(await accountsOf(email)).toBe(1)
    const { events } = (await nia.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(['registered', 'invitation_used'])
    for (const invite of [mailed, operators])
      expect((await register(email, invite)).body.code).toBe('invalid_invitation')
  })

  it('no other link proves it, nor another spelling, nor a request that does not ask to sign in', async () => {
    const email = 'mia@example.com'
    const { operators, mailed } = await mailedTo(email)
    const invited = [
      { username: 'mia1', email, invite: operators },
      { username: 'mia2', email: 'Mia@example.com', invite: mailed },
      { username: 'mia3', email, invite: mailed, signIn: false },
    ]
    for (const person of invited) {
      const answer = await signingIn(person)
      expect([answer.status, answer.body]).toEqual([202, { message: 'Check your mail to finish the registration' }])
      expect(answer.setCookies.map((cookie) => cookie.split('=')[0])).toEqual(['registration'])
    }
    expect(await accountsOf(email)).toBe(0)
    const elsewhere = await signingIn({ username: 'mia4', email: 'other@example.com', invite: mailed })
    expect([elsewhere.status, elsewhere.body.code]).toEqual([403, 'invalid_invitation'])

    const { mailed: again } = await mailedTo('lea@example.com')
    await revoke('lea@example.com')
    expect((await signingIn({ username: 'lea', email: 'lea@example.com', invite: again })).status).toBe(403)
    expect(await accountsOf('lea@example.com')).toBe(0)
    await revoke(email)
  })

  it('says the same to every address, with and without an account, when there is no invitation', async () => {
    await addAccount('known@example.com')
    for (const address of ['known@example.com', 'nobody@example.com', 'no address']) {
      const { status, body } = await register(address)
      expect([status, body.code]).toEqual([403, 'registration_closed'])
    }
  })

  it('has one answer for every invitation that does not work, whatever the address', async () => {
    await invite('used@example.com')
    const used = latchkey.browser()
    const usedToken = await invite('used@example.com')
    await register('used@example.com', usedToken, used)
    expect((await confirm('used@example.com', used))?.status).toBe(200)
    const [replaced, newest] = [await invite('bea@example.com'), await invite('bea@example.com')]
    const revoked = await invite('cy@example.com')
    expect([await revoke('cy@example.com'), await revoke('cy@example.com')]).toEqual([1, 0])
    const bodies = new Set<string>()
    for (const bad of [usedToken, replaced, revoked, 'nonsense', '', `${newest}x`, newest])
      for (const address of ['used@example.com', 'known@example.com', 'dora@example.com', 'bea@mail.example.com']) {
        const { status, text } = await register(address, bad)
        expect(status).toBe(403)
        bodies.add(text)
      }
    for (const token of [usedToken, replaced, revoked, 'nonsense', '']) {
      const { status, text } = await latchkey.browser().post('/api/auth/invite/check', { token })
      expect(status).toBe(403)
      bodies.add(text)
    }
    expect([...bodies]).toEqual([expect.stringContaining('"code":"invalid_invitation"')])
    for (const invite of [7, null, {}, ['x']]) expect((await register('bea@example.com', invite)).status).toBe(400)
  })

  it('answers an invitation for an address that has got an account since like any other', async () => {
    const token = await invite('finn@example.com')
    await addAccount('finn@example.com')
    expect((await register('finn@example.com', token)).status).toBe(202)
    await latchkey.mailTo('finn@example.com', /already have an account/)
    expect(await openInvitations()).not.toContain('finn@example.com')
    expect(
      await latchkey.app.rooms.invitations.invite(emailOf('FINN@example.com'), operatorClient('root')),
    ).toHaveProperty('refused')
  })

  it('20 uses at once make one account, and what was left over makes none after that account is deleted', async () => {
    const token = await invite('jo@example.com')
    const mailsToJo = () =>
      latchkey.mails().filter(({ to, subject }) => to === 'jo@example.com' && /^Confirm/.test(subject)).length
    const tabs = Array.from({ length: 5 }, () => latchkey.browser())
    const links: { tab: Browser; link: string | undefined }[] = []
    for (const tab of tabs) {
      expect((await register('jo@example.com', token, tab)).status).toBe(202)
      await expect.poll(mailsToJo).toBe(links.length + 1)
      const { text } = await latchkey.mailTo('jo@example.com', /Confirm your email/)
      links.push({ tab, link: /#token=([\w-]+)/.exec(text)?.[1] })
    }
    const confirmAll = () =>
      Promise.all(
        [...links, ...links, ...links, ...links].map(
          async ({ tab, link }) => (await tab.copy().post('/api/auth/verify-email', { token: link })).body,
        ),
      )
    const answers = await confirmAll()
    expect(answers.filter(({ user }) => user !== undefined)).toHaveLength(1)
    const codes = new Set(answers.flatMap(({ code }) => (code === undefined ? [] : [code])))
    expect([...codes].toSorted()).toEqual(['already_confirmed', 'already_registered'])
    expect(await accountsOf('jo@example.com')).toBe(1)
    await latchkey.sql.query("delete from users where email = 'jo@example.com'")
    expect(new Set((await confirmAll()).map(({ code }) => code))).toEqual(new Set(['invalid_link']))
    expect(await accountsOf('jo@example.com')).toBe(0)
  })

  it('a provider needs no token: the address that it has verified decides', async () => {
    providers.issuer.become({ sub: 'subject-kim', email: 'Kim@Example.com' })
    providers.github.become({ id: 41, login: 'lea' }, [{ email: 'lea@example.com', primary: true, verified: true }])
    const failed = '/login?error=provider_a_auth_failed&reason=registration_closed'
    await invite('lea@example.com')
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe(failed)
    const token = await invite('kim@example.com')
    const tabs = Array.from({ length: 20 }, () => latchkey.browser())
    const callbacks = await Promise.all(tabs.map((tab) => goToProvider(tab, 'provider-a')))
    const answers = await Promise.all(tabs.map((tab, at) => comeBack(tab, callbacks[at] ?? '')))
    expect(new Set(answers.map(({ location }) => location))).toEqual(new Set(['/dashboard']))
    expect(await accountsOf('kim@example.com')).toBe(1)
    expect(await openInvitations()).toContain('lea@example.com')
    expect(await openInvitations()).not.toContain('kim@example.com')
    expect((await register('kim@example.com', token)).body.code).toBe('invalid_invitation')
    await latchkey.sql.query("delete from users where email_key = 'kim@example.com'")
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe(failed)
    expect((await signInWith(latchkey.browser(), 'provider-b')).location).toBe('/dashboard')
  })

  it('users who have an account sign in with a password, and a waiting registration is told to confirm', async () => {
    const login = (username: string, tab = latchkey.browser()) =>
      tab.post('/login', { username, password: goodPassword })
    expect((await login('used@example.com')).status).toBe(200)
    const token = await invite('mo@example.com')
    const tab = latchkey.browser()
    await register('mo@example.com', token, tab)
    expect((await login('mo@example.com', tab)).body.code).toBe('email_not_confirmed')
  })

  it('a registration that began in time is finished after the invitation has expired, but not after it was withdrawn', async () => {
    const [gil, hal, ida] = [latchkey.browser(), latchkey.browser(), latchkey.browser()]
    const token = await invite('gil@example.com')
    await invite('ida@example.com')
    await latchkey.advance(7 * days - 1 * hours)
    expect((await register('gil@example.com', token, gil)).status).toBe(202)
    expect((await register('hal@example.com', await invite('hal@example.com'), hal)).status).toBe(202)
    await latchkey.advance(2 * hours)
    expect((await register('gil@example.com', token, ida)).body.code).toBe('invalid_invitation')
    await latchkey.app.rooms.invitations.purge(latchkey.sql, 100)
    expect((await confirm('gil@example.com', gil))?.status).toBe(200)
    await revoke('hal@example.com')
    expect((await confirm('hal@example.com', hal))?.body.code).toBe('registration_closed')
    expect(await accountsOf('hal@example.com')).toBe(0)
    // A new invitation does not revive the old registration: it is for another one.
    const renewed = await invite('hal@example.com')
    expect((await confirm('hal@example.com', hal))?.body.code).toBe('registration_closed')
    expect((await register('hal@example.com', renewed, hal)).status).toBe(202)
    const mailsToHal = () =>
      latchkey.mails().filter(({ to, subject }) => to === 'hal@example.com' && /^Confirm/.test(subject))
    await until('the mail of the second registration', () => mailsToHal().length === 2)
    expect((await confirm('hal@example.com', hal))?.status).toBe(200)
    await latchkey.advance(1 * days)
    await latchkey.app.rooms.invitations.purge(latchkey.sql, 100)
    expect(await latchkey.sql.query("select 1 from invitations where email_key = 'ida@example.com'")).toEqual([])
  })
})

describe('where an invitation is needed, or a domain', () => {
  let invited: Latchkey
  let ofDomain: Latchkey
  let providers: TestProviders
  beforeAll(async () => {
    providers = await startProviders()
    const domains = { REGISTRATION_DOMAINS: 'example.com,exämple.org' }
    ;[invited, ofDomain] = await Promise.all([
      startLatchkey({ settings: { REGISTRATION: 'invited' } }),
      startService(providers, domains),
    ])
  })
  afterAll(async () => {
    await Promise.all([invited?.stop(), ofDomain?.stop()])
    await providers?.close()
  })

  it('invited: refuses without an invitation, and takes one', async () => {
    const { invite, register, confirm } = actionsAt(() => invited)
    const refused = await register('ada@example.com')
    expect([refused.status, refused.body.code]).toEqual([403, 'invitation_required'])
    const token = await invite('ada@example.com')
    expect((await register('ada@example.com')).text).toBe(refused.text)
    const tab = invited.browser()
    expect((await register('ada@example.com', token, tab)).status).toBe(202)
    expect((await confirm('ada@example.com', tab))?.status).toBe(200)
  })

  it('domains: bind registration and providers, and an invitation overrides them', async () => {
    const { invite, register, confirm, addAccount } = actionsAt(() => ofDomain)
    for (const address of ['ada@example.com', 'ADA@EXAMPLE.COM', 'ada@xn--exmple-cua.org'])
      expect((await register(address)).status).toBe(202)
    await addAccount('known@example.dev')
    for (const address of ['known@example.dev', 'eve@example.dev', 'ada@mail.example.com', 'ada@example.com.evil'])
      expect((await register(address)).body.code).toBe('email_domain_not_allowed')
    expect((await register('ada@exämple.org')).body.code).toBe('email_shape')

    const tab = ofDomain.browser()
    expect((await register('bea@example.dev', await invite('bea@example.dev'), tab)).status).toBe(202)
    expect((await confirm('bea@example.dev', tab))?.status).toBe(200)

    // The answer shows nothing: the domain counts when the address is confirmed.
    expect((await tab.act('/api/auth/email', { email: 'bea@example.org' })).status).toBe(202)
    const link = /#token=([\w-]+)/.exec((await ofDomain.mailTo('bea@example.org', /confirm-email/)).text)?.[1]
    const late = await tab.post('/api/auth/email/confirm', { token: link })
    expect([late.status, late.body.code]).toEqual([403, 'email_domain_not_allowed'])

    providers.issuer.become({ sub: 'subject-eve', email: 'eve@example.dev' })
    expect((await signInWith(ofDomain.browser(), 'provider-a')).location).toBe(
      '/login?error=provider_a_auth_failed&reason=email_domain_not_allowed',
    )
    await invite('eve@example.dev')
    expect((await signInWith(ofDomain.browser(), 'provider-a')).location).toBe('/dashboard')
    expect((await signInWith(ofDomain.browser(), 'provider-a')).location).toBe('/dashboard')
  })

  it('an account that comes to exist without its invitation uses it up too', async () => {
    const { invite, register, confirm, openInvitations } = actionsAt(() => ofDomain)
    await invite('gus@example.com')
    const tab = ofDomain.browser()
    expect((await register('gus@example.com', undefined, tab)).status).toBe(202)
    expect((await confirm('gus@example.com', tab))?.status).toBe(200)
    expect(await openInvitations()).toEqual([])
  })
})
