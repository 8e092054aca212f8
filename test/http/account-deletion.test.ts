import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { testPostgres } from '../support/databases.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { everythingInRedis, rowsWith, tableNames } from '../support/stored-texts.js'
import { latchkey as run } from '../support/terminal.js'
import { until } from '../support/until.js'
import { untilBlocked } from '../support/waits-for-lock.js'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js'

const secret = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
let receiver: WebhookReceiver
let latchkey: Latchkey
let second: Latchkey
let changes: ReturnType<typeof createEmailChanges>

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  const webhooks = { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: receiver.secret, WEBHOOK_ALLOW_PRIVATE: 'true' }
  latchkey = await startLatchkey({ settings: { JWT_SECRET: secret, ...webhooks } })
  changes = createEmailChanges(latchkey)
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = latchkey.config
  const shared = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, PUBLIC_URL: publicUrl }
  second = await startLatchkey({ settings: { JWT_SECRET: secret, ...shared }, clock: latchkey.clock })
  // All mails are in one mailbox.
  await second.app.rooms.mails.stop()
})
afterAll(async () => {
  await second.stop()
  await latchkey.stop()
  await receiver.stop()
})

const deleteAccount = (tab: Browser, username: string) => tab.act('/api/auth/delete-account', { username })
const idOf = async (tab: Browser) => ((await tab.get('/api/auth/me')).body.user as { id: string }).id
const login = (username: string, tab = latchkey.browser()) => tab.post('/login', { username, password: goodPassword })
const addIdentity = (id: string, subject: string) =>
  latchkey.sql.query(
    "insert into identities (user_id, provider, subject, linked_at) values ($1, 'provider_b', $2, now())",
    [id, subject],
  )
/** Changes the address, undoes it with the link in the mail, and sets the password again. */
const moveThereAndBack = async (tab: Browser, present: string, other: string) => {
  await changes.change(tab, other)
  await changes.undoEmail(await changes.undoToken(present, /was changed/))
  const token = await changes.resetToken(present)
  await latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: goodPassword })
}
const tables = () => tableNames(latchkey.sql)
const tablesWith = (texts: readonly string[]) => rowsWith(latchkey.sql, texts)

describe('the deletion of an account', () => {
  it('needs a fresh session and the username, and leaves neither the name nor the address anywhere', async () => {
    const names = ['quagga', 'Zebra-Of-Old', 'quagga.mail@example.org', 'zebra.mail@example.org', '203.0.113.77']
    const [username = '', former = '', email = '', formerEmail = ''] = names
    const others = ['undone.mail@example.org', 'asked.mail@example.org', 'waiting.mail@example.org']
    const [undone = '', asked = '', waiting = ''] = others
    names.push(...others, 'Quagga Browser')
    const tab = latchkey.browser()
    await login(username, tab)
    await latchkey.registered(former, { email: formerEmail })
    const agent = { headers: { 'user-agent': 'Quagga Browser' }, address: '203.0.113.77' }
    await tab.post('/login', { username: former, password: goodPassword }, agent)
    const id = await idOf(tab)
    await addIdentity(id, `${username}-subject`)
    await changes.change(tab, email)
    await moveThereAndBack(tab, email, undone)
    await login(former, tab)
    await tab.send('PATCH', '/api/auth/account', { username, name: 'Quagga' }, { csrf: true, ...agent })
    await changes.ask(tab, asked)
    await changes.ask(tab, waiting)
    for (const address of [email, formerEmail]) {
      await latchkey.browser().post('/api/auth/register', { username: 'other', email: address, password: goodPassword })
      await latchkey.sql.query(
        `insert into invitations (email_key, made_by, email, operator_hash, created_at, expires_at)
         values ($1, 'command line', $1, decode(md5($1), 'hex'), now(), now() + interval '1 day')`,
        [address],
      )
    }
    // With names that are no longer those of the account, so that only a mark of them is kept.
    const marks = () =>
      latchkey.sql.query("select 1 from events where name_mark is not null and kind = 'sign_in_failed'")
    const marked = (await marks()).length
    const lookAlike = former.replace('O', '\u039f')
    for (const name of [former, formerEmail, lookAlike])
      await latchkey.browser().post('/login', { username: name, password: 'wrong' })
    expect(await marks()).toHaveLength(marked + 3)
    const app = await addAuthenticator(tab, latchkey)
    const trusted = latchkey.browser()
    await login(username, trusted)
    await trusted.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })
    await login(username)
    await latchkey.browser().post('/api/auth/reset-password', { email })
    await latchkey.browser().post('/api/auth/register', { username: 'another', email, password: goodPassword })
    await latchkey.browser().post('/login', { username, password: 'wrong' }, agent)
    expect((await tablesWith([username, email])).length).toBeGreaterThan(5)
    const kinds = () =>
      latchkey.sql.query("select kind, count(*) from events where kind not like 'mail_%' group by kind order by kind")
    const [before, thief] = [await kinds(), trusted.copy()]
    expect((await second.browser().get('/api/auth/me', { headers: { cookie: thief.jar.header() } })).status).toBe(200)

    expect((await trusted.post('/api/auth/delete-account', { username })).body.code).toBe('invalid_csrf_token')
    expect((await deleteAccount(trusted, 'quagg')).body.code).toBe('other_username')
    expect((await deleteAccount(trusted, '')).body.code).toBe('bad_request')
    await latchkey.advance(11 * minutes)
    expect((await deleteAccount(trusted, username)).body.code).toBe('fresh_sign_in_required')
    await trusted.act('/api/auth/step-up', { code: app.code() })
    const logged = latchkey.logLines.length
    const deleted = await trusted.act('/api/auth/delete-account', { username: 'QUAGGA' })
    expect(deleted.status).toBe(204)
    expect([...trusted.jar.keys()]).toEqual(['csrf_secret'])
    expect(await marks()).toEqual([])

    for (const each of [thief, tab]) expect((await each.get('/api/auth/me')).status).toBe(401)
    const atSecond = () => second.browser().get('/api/auth/me', { headers: { cookie: thief.jar.header() } })
    await expect.poll(async () => (await atSecond()).status).toBe(401)
    expect((await thief.post('/api/auth/refresh')).status).toBe(401)
    expect((await login(username)).status).toBe(401)
    expect((await latchkey.mailTo(email, /was deleted/)).text).toContain('quagga')
    await until('the last mail is marked as sent', async () => {
      const rows = await latchkey.sql.query(
        "select 1 from outgoing_mail where kind = 'account-deleted' and sent_at is null",
      )
      return rows.length === 0
    })
    const about = () => receiver.received.filter(({ body }) => body.data.user.id === id)
    await expect.poll(() => about().map(({ type }) => type)).toContain('user.deleted')

    expect(await tablesWith(names)).toEqual([])
    // In production a mail server gets the last mail, and no log line has its address.
    const log = latchkey.logLines.slice(logged).filter((line) => !line.includes('mail for the development mailbox'))
    // Redis counts client networks, for as long as the window of a limit.
    const words = names.filter((name) => name !== agent.address)
    for (const text of [await everythingInRedis(latchkey.config), log.join('')])
      for (const name of words) expect(text.toLowerCase()).not.toContain(name.toLowerCase())
    const counted = (rows: Record<string, unknown>[], kind: string) => rows.find((row) => row.kind === kind)?.count ?? 0
    const after = await kinds()
    for (const { kind, count } of before)
      expect([kind, Number(counted(after, String(kind))) >= Number(count)]).toEqual([kind, true])
    expect(counted(after, 'account_deleted')).toBe(1)

    // All names are free at once.
    const identity = { provider: 'provider_b', subject: `${username}-subject` } as const
    const again = { email: { email, key: email }, username: former, name: null, identity }
    expect(await latchkey.app.rooms.newUsers.createFromProvider(again)).toMatchObject({ email, username: former })
  })

  it('takes back the mails that wait, and leaves what others have at these addresses', async () => {
    const tab = await latchkey.signedUp('gnu')
    await latchkey.app.rooms.mails.stop()
    await latchkey
      .browser()
      .post('/api/auth/register', { username: 'eland', email: 'eland@example.org', password: goodPassword })
    for (const tag of ['', '+1', '+2', '+3', '+4']) await changes.ask(tab, `eland${tag}@example.org`)
    expect((await deleteAccount(tab, 'gnu')).status).toBe(204)
    latchkey.app.rooms.mails.start()
    await latchkey.mailTo('gnu@example.com', /was deleted/)
    const newcomer = await latchkey.signedUp('topi')
    // The deletion has not made room for more mails to this address.
    await changes.ask(newcomer, 'eland@example.org')
    await latchkey.mailTo('topi@example.com', /about to change/)
    const toStranger = latchkey.mails().filter(({ to }) => to.startsWith('eland'))
    expect(toStranger.map(({ text }) => /verify-email|confirm-email/.exec(text)?.[0])).toEqual(['verify-email'])
  })

  it('leaves no mail about an account to a registration at the same moment', async () => {
    const id = await idOf(await latchkey.signedUp('saiga'))
    const outside = testPostgres(String(latchkey.config.databaseUrl))
    const registration = { username: 'saiga2', email: 'saiga@example.com', password: goodPassword }
    const deleting = testPostgres(String(latchkey.config.databaseUrl), { statementTimeoutMs: 120_000 })
    const { registering } = await deleting.transaction(async (sql) => {
      await latchkey.app.rooms.users.lockForDeletion(sql, id)
      const request = latchkey.browser().post('/api/auth/register', registration)
      await untilBlocked(outside)
      await latchkey.app.rooms.userChanges.remove(sql, id)
      return { registering: request }
    })
    expect((await registering).status).toBe(202)
    const rows = await outside.query("select kind from outgoing_mail where recipient = 'saiga@example.com'")
    expect(rows).toEqual([{ kind: 'verify-email' }])
    await Promise.all([deleting.close(), outside.close()])
  })

  it('covers every table: what refers to a user goes with the user', async () => {
    const referring = await latchkey.sql.query<{ name: string }>(
      `select distinct table_name as name from information_schema.columns
       where table_schema = current_schema() and column_name = 'user_id'
         and table_name not in (select table_name from information_schema.views)`,
    )
    const cascading = await latchkey.sql.query<{ name: string }>(
      `select distinct conrelid::regclass::text as name from pg_constraint
       where contype = 'f' and confrelid = 'users'::regclass and confdeltype = 'c'`,
    )
    const known = new Set(cascading.map(({ name }) => name))
    // `user.deleted` and logout notices outlive their user; triggers delete the other webhooks, mails and uses of applications.
    const missing = referring.filter(({ name }) => !known.has(name)).map(({ name }) => name)
    expect(missing.sort()).toEqual(['application_sessions', 'logout_notices', 'outgoing_mail', 'outgoing_webhooks'])
  })

  it('is all or nothing: a process that dies before the commit has deleted nothing', async () => {
    const tab = await latchkey.registered('phoenix')
    const id = await idOf(tab)
    const countAll = async () => {
      const counts: Record<string, unknown> = {}
      // Webhooks leave the table as soon as they are sent.
      for (const table of (await tables()).filter((name) => name !== 'outgoing_webhooks'))
        [counts[table]] = await latchkey.sql.query(`select count(*) from ${table} where ${table}::text like '%${id}%'`)
      return counts
    }
    const before = await countAll()
    const dying = latchkey.sql.transaction(async (sql) => {
      await latchkey.app.rooms.userChanges.remove(sql, id)
      await sql.query('select pg_terminate_backend(pg_backend_pid())')
    })
    await expect(dying).rejects.toThrow()
    expect(await countAll()).toEqual(before)
    expect((await tab.get('/api/auth/account')).status).toBe(200)
  })

  it('has one outcome beside anything that the user does at the same moment', async () => {
    for (const round of [1, 2, 3]) {
      const name = `racer${round}`
      const tab = await latchkey.signedUp(name)
      const id = await idOf(tab)
      await latchkey.browser().post('/api/auth/reset-password', { email: `${name}@example.com` })
      const { text } = await latchkey.mailTo(`${name}@example.com`, /reset-password/)
      const token = /#token=([\w-]+)/.exec(text)?.[1]
      const others = await Promise.all(
        [1, 2].map(async () => {
          const other = latchkey.browser()
          await login(name, other)
          return other
        }),
      )
      const [one, two] = others as [Browser, Browser]
      const atSecond = (path: string, body: object) =>
        fetch(new URL(path, second.url), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
          body: JSON.stringify(body),
        })
      const requests = [
        () => tab.post('/api/auth/refresh'),
        () => login(name),
        () => atSecond('/login', { username: name, password: goodPassword }),
        () => one.act('/api/auth/totp'),
        () => one.act('/api/auth/step-up', { password: goodPassword }),
        () => one.send('PATCH', '/api/auth/account', { name: 'Racer' }, { csrf: true }),
        () => two.send('PATCH', '/api/auth/account', { username: `${name}-new` }, { csrf: true }),
        () => two.act('/api/auth/providers/provider-a/link', {}),
        () => latchkey.browser().post('/api/auth/reset-password', { email: `${name}@example.com` }),
        () => latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: goodPassword }),
        () =>
          addIdentity(id, `${name}-identity`).then(
            () => ({ status: 204 }),
            (error: { code: string }) => ({ status: error.code === '23503' ? 409 : 500 }),
          ),
      ]
      const half = requests.length / 2
      const before = requests.slice(0, half).map((send) => send())
      const deletion = deleteAccount(two, name)
      const answers = await Promise.all([...before, deletion, ...requests.slice(half).map((send) => send())])
      expect(answers.filter(({ status }) => status >= 500)).toEqual([])
      const rows = await latchkey.sql.query('select 1 from users where id = $1', [id])
      // A change of the username, a reset or a step-up may have been first: then the deletion was refused.
      expect((await deletion).status).toBe(rows.length === 0 ? 204 : (await deletion).status)
      if (rows.length === 0)
        // The end of all sessions is known to every instance for 20 minutes.
        for (const table of await tables())
          if (!['outgoing_webhooks', 'events', 'ended_sessions'].includes(table))
            expect(
              await latchkey.sql.query(`select 1 from ${table} where ${table}::text like '%${id}%'`),
              table,
            ).toEqual([])
    }
  })

  it('is also a command, which asks for the username', async () => {
    const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
    const command = (...more: string[]) => run(store, ['user', 'delete', 'great-auk', ...more])
    await latchkey.signedUp('great-auk')
    expect(await command()).toMatchObject({ code: 1, err: expect.stringContaining('--yes') })
    expect(await run(store, ['user', 'delete', 'great-auk'], { typed: ['no\r'] })).toMatchObject({ code: 1 })
    const unchanged = { code: 1, err: expect.stringMatching(/: .*\nNothing was changed\.\n$/) }
    for (const key of ['\u0003', '\u0004'])
      expect(await run(store, ['user', 'delete', 'great-auk'], { typed: [key] })).toMatchObject(unchanged)
    const [{ id } = {}] = await latchkey.sql.query<{ id: string }>("select id from users where username = 'great-auk'")
    expect(await command('--yes', '--json')).toMatchObject({ code: 0, out: `${JSON.stringify({ deleted: id })}\n` })
    expect(await command('--yes')).toMatchObject({ code: 1, err: expect.stringContaining('There is no user') })
    latchkey.app.rooms.mails.nudge()
    expect((await latchkey.mailTo('great-auk@example.com', /was deleted/)).text).toContain('administrator')
    expect(await latchkey.sql.query("select reason from events where kind = 'user_deleted'")).toEqual([{ reason: id }])
    expect(await tablesWith(['great-auk'])).toEqual([])
  })
})
