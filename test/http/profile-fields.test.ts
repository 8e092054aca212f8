import { writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { everyField, profileFieldsFile } from '../support/profile-fields.js'
import { latchkey as run } from '../support/terminal.js'
import { startWebhookReceiver, type WebhookReceiver } from '../support/webhook-receiver.js'

const JWT_SECRET = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const values = {
  department: 'sales',
  nickname: 'Ada 🚀',
  mobile: '+4930123456',
  website: 'https://example.com/ada',
  birthday: '1915-12-10',
  newsletter: false,
}

let file: Awaited<ReturnType<typeof profileFieldsFile>>
let receiver: WebhookReceiver
let latchkey: Latchkey
let ada: Browser

const register = async (username: string, fields?: object) => {
  const tab = latchkey.browser()
  const email = `${username}@example.com`
  const asked = await tab.post('/api/auth/register', {
    username,
    email,
    password: goodPassword,
    ...(fields && { fields }),
  })
  return { tab, asked, email }
}
const registered = async (username: string, fields: object) => {
  const { tab, email } = await register(username, fields)
  const { text } = await latchkey.mailTo(email, /verify-email#token=/)
  const entered = await tab.post('/api/auth/verify-email', { token: /#token=([\w-]+)/.exec(text)?.[1] })
  expect(entered.status).toBe(200)
  return tab
}
const change = (tab: Browser, fields: object) => tab.send('PATCH', '/api/auth/account', { fields }, { csrf: true })
const fieldsOf = async (tab: Browser) => {
  const { body } = await tab.get('/api/auth/account')
  return (body.user as { fields: object }).fields
}
const webhooks = () => ({
  WEBHOOK_URL: receiver.url,
  WEBHOOK_SECRET: receiver.secret,
  WEBHOOK_ALLOW_PRIVATE: 'true',
})
const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (args: string[], input?: string) => run(store, args, input === undefined ? {} : { input })

beforeAll(async () => {
  file = await profileFieldsFile()
  receiver = await startWebhookReceiver()
  latchkey = await startLatchkey({ settings: { JWT_SECRET, PROFILE_FIELDS_FILE: file.path, ...webhooks() } })
  ada = await registered('ada', { department: 'support', newsletter: true })
})
afterAll(async () => {
  await latchkey.stop()
  await receiver.stop()
  await file.remove()
})

describe('a registration', () => {
  it.each<[string, object | undefined, { key: string; fault: string }[]]>([
    ['nothing that is required', undefined, [{ key: 'department', fault: 'required' }]],
    ['an empty value', { department: '' }, [{ key: 'department', fault: 'required' }]],
    ['a field that there is not', { department: 'sales', other: 'x' }, [{ key: 'other', fault: 'unknown' }]],
    [
      'a field of administrators',
      { department: 'sales', staffnumber: '1' },
      [{ key: 'staffnumber', fault: 'administrators_only' }],
    ],
    [
      'two faults',
      { department: 'x', nickname: 'y' },
      [
        { key: 'department', fault: 'choice' },
        { key: 'nickname', fault: 'too_short' },
      ],
    ],
  ])('with %s is refused', async (_, fields, faults) => {
    const { asked } = await register('nobody', fields)
    expect([asked.status, asked.body.code, asked.body.fields]).toEqual([422, 'invalid_fields', faults])
  })

  it('gives the account its fields, and keeps no second copy', async () => {
    expect(await fieldsOf(ada)).toEqual({ department: 'support', newsletter: true })
    expect(await latchkey.sql.query("select 1 from pending_registrations where fields <> '{}'")).toEqual([])
  })
})

describe('the fields of an account', () => {
  it('are changed as a whole or not at all', async () => {
    const refused = await change(ada, { nickname: 'Countess', mobile: '123' })
    expect([refused.status, refused.body.fields]).toEqual([422, [{ key: 'mobile', fault: 'phone' }]])
    const notMine = await change(ada, { staffnumber: '7' })
    expect(notMine.body.fields).toEqual([{ key: 'staffnumber', fault: 'administrators_only' }])
    const emptied = await change(ada, { department: null })
    expect(emptied.body.fields).toEqual([{ key: 'department', fault: 'required' }])
    expect(await fieldsOf(ada)).toEqual({ department: 'support', newsletter: true })
    expect((await change(ada, { ...values, mobile: '+49 30 123456' })).status).toBe(200)
    expect(await fieldsOf(ada)).toEqual(values)
    expect((await change(ada, { nickname: null, website: '' })).status).toBe(200)
    expect(await fieldsOf(ada)).toEqual({ ...values, nickname: undefined, website: undefined })
    expect((await change(ada, values)).status).toBe(200)
    const { body } = await ada.get('/api/auth/account')
    expect(body.fields).toMatchObject(everyField)
    const events = (await ada.get('/api/auth/events')).body.events as { kind: string; reason: string }[]
    expect(events.find(({ kind }) => kind === 'fields_changed')?.reason).toBe('nickname,website')
    expect(JSON.stringify(events)).not.toContain('4930123456')
  })

  it('are set by operators, also those that only they edit', async () => {
    const set = await command([
      'user',
      'change',
      'ada',
      '--field',
      'staffnumber=A 7',
      '--field',
      'newsletter=true',
      '--json',
    ])
    expect(JSON.parse(set.out)).toMatchObject({ changed: ['staffnumber', 'newsletter'] })
    expect(await command(['user', 'change', 'ada', '--field', 'mobile=1'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('takes a phone number'),
    })
    await command(['user', 'change', 'ada', '--field', 'newsletter=false'])
    expect(await fieldsOf(ada)).toEqual({ ...values, staffnumber: 'A 7' })
    const shown = await command(['user', 'show', 'ada'])
    expect(shown.out).toMatch(/^field staffnumber +A 7$/m)
    expect(JSON.parse((await command(['user', 'show', 'ada', '--json'])).out).fields).toEqual({
      ...values,
      staffnumber: 'A 7',
    })
  })

  it('are told to programs: service API, webhook, ID token and UserInfo with the scope, and to no access token', async () => {
    const all = { ...values, staffnumber: 'A 7' }
    const told = () => receiver.received.filter(({ type }) => type === 'user.updated').at(-1)?.body.data.user
    await expect.poll(told, { timeout: 60_000 }).toMatchObject({ username: 'ada', fields: all })
    expect(Buffer.from(ada.jar.get('access_token')?.split('.')[1] ?? '', 'base64url').toString()).not.toContain('sales')
    const notes = await openidApplication(latchkey)
    const tokens = await notes.signIn(ada, { scope: 'openid fields' })
    const claims = JSON.parse(Buffer.from(tokens.id_token.split('.')[1] ?? '', 'base64url').toString())
    expect(claims.fields).toEqual(all)
    expect(await notes.userInfo(tokens)).toMatchObject({ fields: all })
    const without = await notes.signIn(ada, { scope: 'openid profile' })
    expect(await notes.userInfo(without)).not.toHaveProperty('fields')
    const discovery = await fetch(`${latchkey.url}/api/auth/.well-known/openid-configuration`)
    expect(await discovery.json()).toMatchObject({
      scopes_supported: expect.arrayContaining(['fields']),
      claims_supported: expect.arrayContaining(['fields']),
    })
  })

  it('come back from an export of all users as they were, in both forms', async () => {
    const before = await command(['user', 'export', '--with-password-hashes'])
    expect(JSON.parse(before.out.trim()).fields).toEqual({ ...values, staffnumber: 'A 7' })
    for (const format of ['csv', 'jsonl']) {
      const exported = await command(['user', 'export', '--format', format, '--with-password-hashes'])
      await latchkey.sql.query('delete from users')
      expect((await command(['user', 'import', '-'], exported.out)).out).toContain('Added 1 user')
      expect((await command(['user', 'export', '--with-password-hashes'])).out).toBe(before.out)
    }
    const wrong = await command(['user', 'import', '-'], 'email,fields.mobile\nx@example.com,12\n')
    expect(wrong.err).toBe('line 2: fields.mobile cannot be used (phone)\n')
  })

  it('are bound by `today` where a user enters them, and not where operators do or what is stored is read', async () => {
    const tab = latchkey.browser()
    await tab.post('/login', { username: 'ada', password: goodPassword })
    const ahead = { birthday: '2999-01-01' }
    expect((await change(tab, ahead)).body.fields).toEqual([{ key: 'birthday', fault: 'too_late' }])
    await command(['user', 'change', 'ada', '--field', 'birthday=2999-01-01'])
    expect(await fieldsOf(tab)).toMatchObject(ahead)
    await command(['user', 'change', 'ada', '--field', `birthday=${values.birthday}`])
    const imported = await command(['user', 'import', '-'], 'email,fields.birthday\nfinn@example.com,2999-01-01\n')
    expect(imported.out).toContain('Added 1 user')
    expect(JSON.parse((await command(['user', 'show', 'finn', '--json'])).out).fields).toEqual(ahead)
  })
})

describe('a value that the file no longer allows', () => {
  const serviceKey = newServiceKey('hr')
  /** An option, a longer text and a type are gone, and a whole field. */
  const narrowed = everyField.flatMap((field) => {
    const changes: Record<string, object> = {
      department: { options: [{ value: 'support' }] },
      nickname: { maxLength: 3 },
      website: { type: 'boolean' },
    }
    return field.key === 'mobile' ? [] : [{ ...field, ...changes[field.key] }]
  })
  const stored = { ...values, staffnumber: 'A 7' }
  const allowed = { birthday: values.birthday, newsletter: values.newsletter, staffnumber: 'A 7' }
  let narrow: Latchkey
  let tab: Browser
  let notes: OpenidApplication

  const storedOf = async (username: string) => (await latchkey.app.rooms.users.findByLogin(username))?.fields
  const updates = () => receiver.received.filter(({ type }) => type === 'user.updated')

  beforeAll(async () => {
    const earlier = latchkey.browser()
    expect((await earlier.post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
    await file.replace(narrowed)
    const keys = `${file.path}.keys`
    await writeFile(keys, serviceKey.line)
    const { databaseUrl, redisUrl = '', redisPrefix } = latchkey.config
    const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
    const settings = { JWT_SECRET, PROFILE_FIELDS_FILE: file.path, SERVICE_KEYS_FILE: keys, ...stores, ...webhooks() }
    // Only the one with the new file sends.
    await latchkey.app.rooms.webhooks.stop()
    narrow = await startLatchkey({ settings, clock: latchkey.clock })
    tab = createBrowser(narrow.url, earlier.jar)
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    notes = await openidApplication(narrow, { name: 'Narrow notes' })
  })
  afterAll(() => narrow?.stop())

  const claimsOf = ({ id_token: token }: { id_token: string }) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  /** Of the first line: Ada is the oldest user. */
  const json = async (args: string[]) => JSON.parse((await command(args)).out.split('\n')[0] ?? '')
  const asService = async () => {
    const headers = { authorization: `Bearer ${serviceKey.key}` }
    const answer = await fetch(`${narrow.url}/api/service/users?email=ada@example.com`, { headers })
    return (await answer.json()).user.fields
  }

  it.each<['missing' | 'there', string, () => Promise<unknown>]>([
    ['missing', 'the account page', () => fieldsOf(tab)],
    ['missing', 'the service API', asService],
    ['missing', 'an ID token', async () => claimsOf(await notes.signIn(tab, { scope: 'openid fields' })).fields],
    [
      'missing',
      'UserInfo',
      async () => (await notes.userInfo(await notes.signIn(tab, { scope: 'openid fields' }))).fields,
    ],
    ['missing', '`user show`', async () => (await json(['user', 'show', 'ada', '--json'])).fields],
    ['missing', 'the export of all users', async () => (await json(['user', 'export'])).fields],
    [
      'there',
      "the user's own export",
      async () => ((await tab.get('/api/auth/export')).body.account as { fields: object }).fields,
    ],
    ['there', '`user export USER`', async () => (await json(['user', 'export', 'ada'])).account.fields],
  ])('is %s in %s', async (state, _, read) => {
    expect(await read()).toEqual(state === 'missing' ? allowed : stored)
  })

  it('is told by no webhook, and not lost by another change', async () => {
    expect((await change(tab, { birthday: '1915-12-11' })).status).toBe(200)
    const told = () => updates().at(-1)?.body.data.user
    const birthday = '1915-12-11'
    await expect.poll(told, { timeout: 60_000 }).toMatchObject({ fields: { birthday } })
    expect(told()).toHaveProperty('fields', { ...allowed, birthday })
    expect(await storedOf('ada')).toEqual({ ...stored, birthday })
    await change(tab, { birthday: values.birthday })
  })

  it.each([
    ['department', 'choice'],
    ['nickname', 'too_long'],
    ['website', 'wrong_type'],
    ['mobile', 'unknown'],
  ] as const)('is refused from an import and from its user: %s', async (key, fault) => {
    const fields = { [key]: values[key] }
    const line = JSON.stringify({ email: 'x@example.com', fields })
    expect((await command(['user', 'import', '-'], line)).err).toBe(`line 1: fields.${key} cannot be used (${fault})\n`)
    expect((await change(tab, fields)).body.fields).toEqual([{ key, fault }])
  })

  it('is asked for at the next sign-in if it is required, and the others stay stored', async () => {
    const next = narrow.browser()
    const asked = await next.post('/login', { username: 'ada', password: goodPassword })
    expect([asked.status, asked.body.next]).toEqual([202, 'profile'])
    const { fields } = (await next.get('/api/auth/second-factor')).body as { fields: { key: string }[] }
    expect(fields.map(({ key }) => key)).toEqual(['department'])
    const answered = await next.post('/api/auth/second-factor', { fields: { department: 'support' } })
    expect(answered.status).toBe(200)
    expect(await storedOf('ada')).toEqual({ ...stored, department: 'support' })
  })

  it('is purged by a command once its field has left the file, and each user is told of once', async () => {
    expect((await command(['fields', 'list'])).out).toMatch(/^mobile +not in the file +1$/m)
    expect(await command(['fields', 'purge', 'mobile'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('--yes'),
    })
    expect(await command(['fields', 'purge', 'nickname', '--yes'])).toMatchObject({ code: 1 })
    const waiting = async () => (await narrow.app.rooms.webhooks.count()).waiting
    await expect.poll(waiting, { timeout: 60_000 }).toBe(0)
    const before = updates().length
    expect((await command(['fields', 'purge', 'mobile', '--yes'])).out).toBe('Deleted the value of 1 user.\n')
    expect(await storedOf('ada')).not.toHaveProperty('mobile')
    await expect.poll(() => updates().length, { timeout: 60_000 }).toBe(before + 1)
    await expect.poll(waiting, { timeout: 60_000 }).toBe(0)
    expect(updates()).toHaveLength(before + 1)
  })
})

describe('the file', () => {
  it('stops the start with its place if it is wrong', async () => {
    await file.replace([{ key: 'A', type: 'text' }])
    const starting = startLatchkey({ stores: 'own', settings: { PROFILE_FIELDS_FILE: file.path } })
    await expect(starting).rejects.toThrow(/^PROFILE_FIELDS_FILE: fields\[0\]\.key must be .*fields\.json/)
  })
})
