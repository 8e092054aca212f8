import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { minutes, seconds } from '../../src/lib/durations.js'
import type { Transaction } from '../../src/platform/database/database.js'
import { addAuthenticator } from '../support/authenticator.js'
import { type Answer, type Browser, createBrowser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey } from '../support/passkey.js'
import { overtaken } from '../support/waits-for-lock.js'

const otherPassword = 'copper-Lagoon-47-meadow'

const providers = { PROVIDER_B_CLIENT_ID: 'b', PROVIDER_B_CLIENT_SECRET: 'secret of b' }

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ...providers, LOGIN_LIMIT: '5/15m' } })
})
afterAll(() => latchkey.stop())

/** Another instance. It stops with the test, because each instance shows only the mails that it has sent itself. */
const startOther = async () => {
  const { databaseUrl, redisUrl = '', redisPrefix } = latchkey.config
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...stores, JWT_SECRET: latchkey.app.platform.secrets.join(','), PUBLIC_URL: latchkey.url }
  const other = await startLatchkey({ settings, clock: latchkey.clock })
  onTestFinished(other.stop)
  /** The same browser at the other instance. */
  const at = ({ jar }: Browser) => createBrowser(`http://localhost:${other.config.port}`, jar)
  return { ...other, at }
}

/** Each account is at its own address, because failures are counted by network. */
let addresses = 0
const nextAddress = () => `198.51.100.${++addresses}`

const refused = (methods: string[]) => ({
  error: 'Fresh sign-in required',
  message: 'Confirm again that it is you before you change this',
  code: 'fresh_sign_in_required',
  methods,
})

/** After this time a session is no longer fresh, but its access token is still valid. */
const tenMinutesLater = () => latchkey.advance(10 * minutes + 2 * seconds)

const linkFor = (username: string) =>
  latchkey.sql.query(
    "insert into identities (user_id, provider, subject, linked_at) select id, 'provider_b', $1, now() from users where username = $1",
    [username],
  )

/** A user without a password, as after a first sign-in with a provider. */
const withoutPassword = async (username: string) => {
  const tab = await latchkey.signedUp(username)
  await linkFor(username)
  await latchkey.sql.query('update users set password_hash = null where username = $1', [username])
  return tab
}

const signIn = async (username: string) => {
  const tab = latchkey.browser()
  await tab.post('/login', { username, password: goodPassword }, { address: nextAddress() })
  return tab
}

const sessionIdOf = async (tab: Browser) => String((await tab.get('/api/auth/me')).body.sessionId)

const prove = (tab: Browser, proof: object, address = nextAddress()) =>
  tab.send('POST', '/api/auth/step-up', proof, { csrf: true, address })

const claimsOf = (tab: Browser, name: 'access_token' | 'refresh_token') =>
  JSON.parse(Buffer.from(String(tab.jar.get(name)).split('.')[1] ?? '', 'base64url').toString()) as Record<
    string,
    unknown
  >

const eventsOf = async (username: string) => {
  const rows = await latchkey.sql.query<{ kind: string; reason: string }>(
    `select e.kind, e.reason from events as e join users as u on u.id = e.user_id
     where u.username = $1 and e.kind in ('stepped_up', 'step_up_failed') order by e.id`,
    [username],
  )
  return rows.map(({ kind, reason }) => `${kind} ${reason}`)
}

// Comes first: entries about ended sessions are deleted 20 minutes later, and the other tests move the clock.
it.each(['step-up', 'change-password'])('refuses every copied token after a %s, at every instance', async (path) => {
  const tab = await latchkey.signedUp(`copied-${path}`)
  const thief = tab.copy()
  const { at: atOther } = await startOther()
  const body =
    path === 'step-up' ? { password: goodPassword } : { currentPassword: goodPassword, newPassword: otherPassword }
  const { status } = await tab.send('POST', `/api/auth/${path}`, body, { csrf: true, address: nextAddress() })
  expect(status).toBeLessThan(300)
  expect((await thief.get('/api/auth/me')).status).toBe(401)
  expect((await thief.post('/api/auth/refresh')).status).toBe(401)
  await expect.poll(async () => (await atOther(thief).get('/api/auth/me')).status).toBe(401)
  expect((await atOther(thief).post('/api/auth/refresh')).status).toBe(401)
  expect((await atOther(tab).get('/api/auth/me')).status).toBe(200)
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
})

it('refuses a request with a copied token if the owner steps up at the same moment', async () => {
  const { users, sessions, sessionLookups } = latchkey.app.rooms
  const changes = createEmailChanges(latchkey)
  const tab = await latchkey.signedUp('quick')
  await changes.ask(tab, 'quick@example.org')
  const token = await changes.confirmToken('quick@example.org')
  const passwords = { currentPassword: goodPassword, newPassword: otherPassword }
  const requests: ((thief: Browser) => Promise<Answer>)[] = [
    (thief) => thief.send('PATCH', '/api/auth/account', { name: 'Thief' }, { csrf: true }),
    (thief) => changes.confirm(thief, token),
    (thief) => thief.act('/api/auth/change-password', passwords),
    (thief) => prove(thief, { password: goodPassword }),
  ]
  for (const request of requests) {
    const { sid, gen } = claimsOf(tab, 'access_token')
    const prevails = async (sql: Transaction, userId: string) => {
      const [caller, user] = [
        { sessionId: String(sid), userId, generation: Number(gen) },
        await users.lock(sql, userId),
      ]
      const session = user && (await sessionLookups.lockOfCaller(sql, caller))
      const change = { change: { proven: 'pwd' }, provesUser: true } as const
      const issued =
        session && (await sessions.replaceTokens(sql, caller, { ip: '', userAgent: '' }, { session, ...change }))
      tab.jar.set('access_token', issued?.accessToken ?? '')
      tab.jar.set('refresh_token', issued?.refreshToken ?? '')
    }
    const thief = tab.copy()
    const answer = await overtaken(latchkey, 'quick', () => request(thief), prevails)
    expect([answer.status, answer.body.code]).toEqual([401, 'not_authenticated'])
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  }
  expect((await tab.get('/api/auth/account')).body.user).toMatchObject({ name: null, email: 'quick@example.com' })
})

it('takes no password if a second factor is added at that moment', async () => {
  const tab = await latchkey.signedUp('added')
  const addsPasskey = (sql: Transaction, userId: string) =>
    sql.query(
      `insert into passkeys (id, user_id, credential_id, public_key, counter, transports, relying_party, name, synced, created_at)
       values (gen_random_uuid(), $1, '\\x01', '\\x01', 0, '{}', $2, 'Key', false, now())`,
      [userId, new URL(latchkey.url).hostname],
    )
  const answer = await overtaken(latchkey, 'added', () => prove(tab, { password: goodPassword }), addsPasskey)
  expect([answer.status, answer.body]).toEqual([403, refused(['passkey'])])
  expect(await eventsOf('added')).toEqual([])
})

// A proof with a code is a change inside of the transaction that uses the code up, and nothing limits the mails of such a change.
it('mails nothing to the owner, whatever proves it', async () => {
  const accounts = ['quin', 'rita', 'saul'] as const
  const mailsOf = async (name: string) =>
    (
      await latchkey.sql.query<{ kind: string }>(
        'select kind from outgoing_mail where user_id = (select id from users where username = $1)',
        [name],
      )
    ).map(({ kind }) => kind)
  const [quin, rita, saul] = [
    await latchkey.signedUp('quin'),
    await latchkey.signedUp('rita'),
    await latchkey.signedUp('saul'),
  ]
  const app = await addAuthenticator(rita, latchkey)
  const { passkey } = await addPasskey(saul, latchkey.url)
  const before = await Promise.all(accounts.map(mailsOf))
  expect((await prove(quin, { password: goodPassword })).status).toBe(200)
  expect((await prove(rita, { code: app.code() })).status).toBe(200)
  const { body: options } = await saul.act('/api/auth/step-up/passkey/options')
  expect((await prove(saul, { credential: passkey.get(options) })).status).toBe(200)
  expect(await Promise.all(accounts.map(mailsOf))).toEqual(before)
})

it('guards linking, unlinking and ending another session, and opens them for ten minutes after a proof', async () => {
  const tab = await latchkey.signedUp('ada')
  await linkFor('ada')
  const others = [await sessionIdOf(await signIn('ada')), await sessionIdOf(await signIn('ada'))]
  const guarded = [
    ['DELETE', `/api/auth/sessions/${others[0]}`, undefined, 204],
    ['DELETE', '/api/auth/providers/provider-b', undefined, 204],
    ['POST', '/api/auth/providers/provider-b/link', {}, 200],
  ] as const
  const all = async () => {
    const answers = []
    for (const [method, path, body] of guarded) answers.push(await tab.send(method, path, body, { csrf: true }))
    return answers
  }
  await tenMinutesLater()
  for (const { status, body } of await all()) expect([status, body]).toEqual([403, refused(['password'])])
  expect((await prove(tab, { password: goodPassword })).status).toBe(200)
  expect((await all()).map(({ status }) => status)).toEqual(guarded.map(([, , , status]) => status))
  await tenMinutesLater()
  expect((await tab.remove(`/api/auth/sessions/${others[1]}`)).body).toEqual(refused(['password']))
  expect((await tab.remove(`/api/auth/sessions/${await sessionIdOf(tab)}`)).status).toBe(204)
})

it('never guards logout and logout-all', async () => {
  const [one, all] = [await latchkey.signedUp('bea'), await signIn('bea')]
  await tenMinutesLater()
  expect((await one.act('/api/auth/logout')).status).toBe(204)
  expect((await all.act('/api/auth/logout-all')).status).toBe(204)
})

it('adds the proof to the access token, and leaves the claims of the refresh token as they are', async () => {
  const tab = await latchkey.signedUp('cy')
  const before = claimsOf(tab, 'refresh_token')
  await tenMinutesLater()
  expect((await tab.get('/api/auth/verify?fresh=10m')).headers.get('x-auth-step-up')).toBe('/step-up?fresh=10m')
  const answer = await prove(tab, { password: goodPassword })
  expect(answer.body).toMatchObject({ user: { username: 'cy' } })
  const access = claimsOf(tab, 'access_token')
  expect(access).toMatchObject({ gen: 1, amr: ['pwd'], auth_time: access.iat })
  const { iat: _, exp: __, ...kept } = claimsOf(tab, 'refresh_token')
  const { iat: ___, exp: ____, ...first } = before
  expect(kept).toEqual({ ...first, gen: 1 })
  expect((await tab.get('/api/auth/verify?fresh=10m')).status).toBe(204)
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  expect(claimsOf(tab, 'access_token')).toMatchObject({ gen: 2, auth_time: access.auth_time })
  expect(await eventsOf('cy')).toEqual(['stepped_up password'])
})

const codeMailOf = async (username: string, instances: Pick<Latchkey, 'mails'>[]) => {
  const to = `${username}@example.com`
  const mails = () => instances.flatMap((instance) => instance.mails())
  const found = () => mails().find((mail) => mail.to === to && /Your code/.test(mail.subject))
  await expect.poll(found).toBeDefined()
  return found() ?? { text: '' }
}

it('lets an account without a password prove it by a mailed code, once, in the session that asked for it', async () => {
  const tab = await withoutPassword('dot')
  const second = tab.copy()
  await tenMinutesLater()
  expect((await tab.remove('/api/auth/providers/provider-b')).body).toEqual(refused(['mail']))
  expect((await tab.get('/api/auth/step-up')).body).toEqual({ methods: ['mail'] })
  expect((await prove(tab, { password: goodPassword })).body).toEqual(refused(['mail']))
  expect((await prove(tab, { mailedCode: 'AAAA-AAAA' })).body.code).toBe('mailed_code_void')
  const other = await startOther()
  expect((await other.at(tab).act('/api/auth/step-up/mail')).status).toBe(202)
  const mail = await codeMailOf('dot', [latchkey, other])
  const mailedCode = /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(mail.text)?.[1] ?? ''
  const answers = await Promise.all([prove(tab, { mailedCode }), prove(second, { mailedCode })])
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 401])
  const winner = answers[0]?.status === 200 ? tab : second
  expect(claimsOf(winner, 'access_token').amr).toEqual(['pwd', 'mail'])
  expect((await winner.remove('/api/auth/providers/provider-b')).body.code).toBe('last_way_in')
})

it('voids a mailed code after five wrong tries and after ten minutes, and sends at most five mails an hour', async () => {
  const tab = await withoutPassword('eli')
  const address = nextAddress()
  for (const round of [1, 2, 3, 4, 5]) {
    expect([round, (await tab.act('/api/auth/step-up/mail')).status]).toEqual([round, 202])
  }
  const { status, body, headers } = await tab.act('/api/auth/step-up/mail')
  expect([status, body]).toEqual([429, { error: 'Too many requests', message: 'Please slow down' }])
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  const wrong = await Promise.all(Array.from({ length: 8 }, () => prove(tab, { mailedCode: 'wrong' }, address)))
  const codes = wrong.map((answer) => answer.body.code)
  expect(codes.filter((code) => code === 'wrong_mailed_code')).toHaveLength(4)
  expect(codes.filter((code) => code === 'mailed_code_void')).toHaveLength(4)
  const [row] = await latchkey.sql.query<{ tries_left: number }>('select tries_left from mailed_codes')
  expect(row?.tries_left).toBe(0)
  await latchkey.sql.query("update mailed_codes set tries_left = 5, expires_at = expires_at - interval '10 minutes'")
  expect((await prove(tab, { mailedCode: 'wrong' })).body.code).toBe('mailed_code_void')
  // Wrong codes do not count as failed sign-ins.
  expect((await latchkey.browser().post('/login', { username: 'eli', password: 'x' }, { address })).status).toBe(401)
})

it('counts wrong passwords as failed sign-ins, also many at once', async () => {
  const tab = await latchkey.signedUp('fay')
  const address = nextAddress()
  const guesses = Array.from({ length: 12 }, (_, at) =>
    prove(at % 2 ? tab : tab.copy(), { password: `wrong ${at}` }, address),
  )
  const statuses = (await Promise.all(guesses)).map(({ status }) => status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(5)
  expect(statuses.filter((status) => status === 429)).toHaveLength(7)
  const login = await latchkey.browser().post('/login', { username: 'fay', password: goodPassword }, { address })
  expect(login.body.error).toBe('Too many login attempts')
  expect((await prove(tab, { password: goodPassword })).status).toBe(200)
  expect(await eventsOf('fay')).toEqual([...Array(5).fill('step_up_failed password'), 'stepped_up password'])
})

it('takes one proof at a time, and a mailed code only where there is no password', async () => {
  const tab = await latchkey.signedUp('gus')
  for (const proof of [{}, { password: goodPassword, mailedCode: 'AAAA-AAAA' }])
    expect((await prove(tab, proof)).body.code).toBe('bad_request')
  expect((await tab.act('/api/auth/step-up/mail')).body).toEqual(refused(['password']))
  expect((await prove(tab, { mailedCode: 'AAAA-AAAA' })).body).toEqual(refused(['password']))
  await latchkey.sql.query("update users set disabled_at = now() where username = 'gus'")
  expect((await prove(tab, { password: goodPassword })).body.code).toBe('not_authenticated')
})
