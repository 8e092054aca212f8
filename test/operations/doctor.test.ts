import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { databaseChecks } from '../../src/commands/doctor/all-checks.js'
import { type CheckGroup, runCheck } from '../../src/commands/doctor/check.js'
import { outsideChecks, redisChecks } from '../../src/commands/doctor/outside.js'

import { migrateAsOwner } from '../../src/platform/database/open.js'
import { grantsFor } from '../../src/service/tables.js'
import { type Config, loadConfig } from '../../src/settings/config.js'
import { makeCertificate } from '../support/certificate.js'
import {
  emptyPostgres,
  type FreshDatabase,
  freshPostgres,
  migrationNames,
  migrationsDirectory,
  testPostgres,
  urlFor,
} from '../support/databases.js'
import { startProviders, type TestProviders } from '../support/providers/test-providers.js'
import { createRedisServer } from '../support/servers/redis-server.js'
import { freePort } from '../support/servers/server.js'
import { type SmtpInbox, startOddServer, startSmtpInbox } from '../support/smtp-inbox.js'
import { startStopwatch } from '../support/stopwatch.js'
import { noStore } from '../support/stores.js'
import { latchkey } from '../support/terminal.js'

const password = `pw-${randomBytes(12).toString('hex')}`
const secret = randomBytes(48).toString('hex')
const role = `latchkey_doctor_${randomBytes(6).toString('hex')}`

/** Runs it, and sorts its lines by name. */
const examine = async (settings: Record<string, string>) => {
  // It hashes a password at this cost.
  const environment = { NODE_ENV: 'test', BCRYPT_COST: '10', ...settings }
  const { code, out: text } = await latchkey(noStore, ['doctor'], { environment })
  const lines = text.split('\n').flatMap((line) => {
    const [, level = '', name = '', says = ''] = /^(ok|warning|error) +(\S+(?: \S+)*?) {2,}(.*)$/.exec(line) ?? []
    return level ? [{ level, name, says }] : []
  })
  const about = (name: string) =>
    lines.filter((line) => line.name === name).map(({ level, says }) => `${level}: ${says}`)
  return { code, text, lines, about }
}

/** One check alone: a whole run also starts a thread and hashes a password. */
const examineOne = async (group: (config: Config) => CheckGroup, name: string, settings: Record<string, string>) => {
  const { checks, close } = group(loadConfig({ NODE_ENV: 'test', ...settings }))
  const lines = await Promise.all(checks.filter((each) => each.name === name).map((each) => runCheck(each)))
  await close?.()
  return lines.map(({ level, says }) => `${level}: ${says}`)
}

let folder: string
let database: FreshDatabase
let inbox: SmtpInbox
let providers: TestProviders
let healthy: Record<string, string>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-doctor-'))
  database = await freshPostgres()
  const admin = testPostgres(database.url)
  await admin.query(`create role ${role} login password '${password}'`)
  await admin.close()
  const url = urlFor(database.url, { user: role, password })
  await migrateAsOwner({ url, ownerUrl: database.url, directory: migrationsDirectory, grantsFor })
  inbox = await startSmtpInbox()
  providers = await startProviders()
  healthy = {
    DATABASE_URL: url,
    DATABASE_OWNER_URL: database.url,
    REDIS_URL: process.env.TEST_REDIS_URL ?? '',
    JWT_SECRET: secret,
    SMTP_URL: inbox.url,
    MAIL_FROM: 'Latchkey <no-reply@auth.example.com>',
    PUBLIC_URL: 'https://auth.example.com',
    DEVELOPMENT_ON_NETWORK: 'true',
    TRUST_PROXY: '10.0.0.0/8',
    DATA_DIR: join(folder, 'data'),
    ...providers.settings,
  }
})

afterAll(async () => {
  const admin = testPostgres(database.url)
  await admin.query(`drop owned by ${role}`)
  await admin.query(`drop role ${role}`)
  await admin.close()
  await Promise.all([database.drop(), inbox.stop(), providers.close(), rm(folder, { recursive: true, force: true })])
})

describe('on a healthy set-up', () => {
  it('has a good word for everything, says no secret, and leaves nothing behind', async () => {
    const { code, text, lines, about } = await examine(healthy)
    expect([code, lines.filter(({ level }) => level === 'error')]).toEqual([0, []])
    expect(lines.map(({ name }) => name)).toEqual([
      ...['settings', 'proxy', 'secrets', 'data directory', 'threads', 'passwords'],
      ...['database', 'database encryption', 'database role', 'database owner', 'database schema', 'events'],
      ...['sealed values', 'signing keys', 'keys of ID tokens', 'withdrawn keys', 'passkeys', 'applications'],
      'application secrets',
      ...['database space', 'durability', 'database clock', 'webhooks', 'logout notices', 'waiting mails'],
      ...['limits', 'registration', 'administrators', 'profile fields'],
      ...['redis', 'redis encryption', 'redis policy', 'redis clock'],
      ...['mail', 'mail encryption', 'provider A', 'provider B'],
    ])
    // The server of the tests does without fsync; everything else is as it should be.
    expect(lines.filter(({ name }) => name !== 'durability').map(({ level }) => level)).not.toContain('warning')
    expect(about('database role')).toEqual([
      `ok: ${role} reads and writes rows, only reads content, and creates nothing`,
    ])
    expect(about('database owner')).toEqual([expect.stringMatching(/^ok: \S+ may migrate$/)])
    expect(about('administrators')).toEqual([expect.stringMatching(/^ok: the setup makes .*`latchkey setup-link`/)])
    for (const hidden of [password, secret, providers.settings.PROVIDER_A_CLIENT_SECRET])
      expect(text).not.toContain(hidden)
    expect(await readdir(folder)).toEqual([])
  })
})

describe('on a broken set-up', () => {
  it('warns of a secret that is a plain word, and can still be read', async () => {
    const settings = { ...healthy, NODE_ENV: 'production', DEVELOPMENT_ON_NETWORK: '' }
    const SMTP_URL = healthy.SMTP_URL?.replace('smtp://', 'smtp://mailer:secret@') ?? ''
    const { text, about } = await examine({ ...settings, SMTP_URL })
    expect(about('secrets')).toEqual([
      expect.stringMatching(/^ok: one secret of \d+ characters$/),
      'warning: a single plain word protects SMTP_URL: choose what nobody guesses, such as openssl rand -hex 24',
    ])
    expect(text).not.toContain('[hidden]')
    expect(text).not.toContain('mailer:')
  })

  it('warns where no user could get an account, and of domains that do not say what was meant', async () => {
    const registration = async (settings: Record<string, string>) =>
      (await examineOne(databaseChecks, 'registration', { ...healthy, ...settings })).join()
    expect(await registration({ REGISTRATION: 'closed' })).toMatch(
      /^warning: there is no user yet: `latchkey setup-link`/,
    )
    const invited = await registration({ REGISTRATION: 'invited', REGISTRATION_DOMAINS: 'example.com', SMTP_URL: '' })
    expect(invited).toMatch(/^warning: REGISTRATION_DOMAINS has no effect.*SMTP_URL is not set.*setup-link/)
    expect(await registration({ REGISTRATION_DOMAINS: 'gmail.com' })).toMatch(/^warning: anyone can get an address/)
    expect(await registration({ REGISTRATION_DOMAINS: 'example.com' })).toBe(
      'ok: open for addresses of example.com, and by invitation',
    )
  })

  it('warns of a role that may do too much and of months that are missing, and fails a role that may do too little', async () => {
    const { code, about } = await examine({ ...healthy, DATABASE_URL: database.url })
    expect(code).toBe(0)
    expect(about('database role')).toEqual([
      expect.stringMatching(/^warning: .* is a superuser, .*owns the tables, .*may write content/),
    ])
    const admin = testPostgres(database.url)
    await admin.query('drop table events_earlier')
    await admin.query(`revoke delete on events from ${role}`)
    const after = await examine(healthy)
    await admin.query(`grant delete on events to ${role}`)
    await admin.close()
    expect(after.code).toBe(1)
    expect(after.about('events')).toEqual([expect.stringMatching(/^warning: no part for \d{4}-\d\d and \d{4}-\d\d: /)])
    expect(after.about('database role')).toEqual([expect.stringMatching(/^error: .* lacks rights on the tables/)])
  })

  it('fails an owner that cannot be used, may not migrate, or is somewhere else', async () => {
    const [down, other] = [await freePort(), await emptyPostgres()]
    const about = (DATABASE_OWNER_URL: string, settings = healthy) =>
      examineOne(databaseChecks, 'database owner', { ...settings, DATABASE_OWNER_URL })
    const unusable = `postgres://owner:${password}@127.0.0.1:${down}/latchkey`
    const whole = await examine({ ...healthy, DATABASE_OWNER_URL: unusable })
    expect([whole.code, whole.text.includes(password)]).toEqual([1, false])
    expect(whole.about('database owner')).toEqual([
      expect.stringMatching(/^error: PostgreSQL at .* cannot be used: .*ECONNREFUSED/),
    ])
    expect(await about(urlFor(database.url, { user: `${role}_nobody` }))).toEqual([
      expect.stringMatching(/^error: PostgreSQL at .* cannot be used: role .* does not exist/),
    ])
    expect(await about(healthy.DATABASE_URL ?? '')).toEqual([
      `error: ${role} does not own the tables: name the role that does in DATABASE_OWNER_URL`,
    ])
    expect(await about(other.url)).toEqual(['error: DATABASE_OWNER_URL names another database than DATABASE_URL'])
    expect(await about(urlFor(other.url, { user: role, password }), { ...healthy, DATABASE_URL: other.url })).toEqual([
      `error: ${role} may not create tables here: name the owner of the database in DATABASE_OWNER_URL`,
    ])
    await other.drop()
  })

  it('fails a database that accepts no writes', async () => {
    const admin = testPostgres(database.url)
    const name = new URL(database.url).pathname.slice(1)
    await admin.query(`alter database "${name}" set default_transaction_read_only = on`)
    const { host } = new URL(database.url)
    const several = (healthy.DATABASE_URL ?? '').replace(host, `${host},${host}`)
    const [one, two] = await Promise.all([examine(healthy), examine({ ...healthy, DATABASE_URL: several })])
    await admin.query(`alter database "${name}" reset default_transaction_read_only`)
    await admin.close()
    expect([one.code, two.code]).toEqual([1, 1])
    const refusal = expect.stringMatching(/^error: the database accepts no writes: default_transaction_read_only is on/)
    expect([...one.about('database'), ...one.about('database owner')]).toEqual([refusal, refusal])
    expect(two.about('database')).toEqual([expect.stringMatching(/^error: .* is a standby or read-only/)])
    expect(two.about('database hosts')).toEqual([
      expect.stringMatching(/^warning: \S+ is not used: its default_transaction_read_only is on/),
    ])
  })

  it('says once that the service has no rights on restored tables, and what was not checked for it', async () => {
    const admin = testPostgres(database.url)
    await admin.query(`revoke all on all tables in schema public from ${role}`)
    const { lines, about } = await examine({ ...healthy, ADMIN_GROUP: 'admins' })
    await admin.close()
    await migrateAsOwner({
      url: healthy.DATABASE_URL ?? '',
      ownerUrl: database.url,
      directory: migrationsDirectory,
      grantsFor,
    })
    expect(lines.filter(({ level }) => level === 'error').map(({ name }) => name)).toEqual([
      'database role',
      'database schema',
    ])
    expect(about('not checked')).toEqual([
      expect.stringMatching(/^warning: events, .*, administrators, profile fields: the tables are not ready: see/),
    ])
  })

  it('names groups of administrators that let nobody in, and mails that the server has not taken', async () => {
    const admin = testPostgres(database.url)
    const settings = { ...healthy, ADMIN_GROUP: 'admins', SUPPORT_GROUP: 'helpers' }
    const administrators = async () => (await examineOne(databaseChecks, 'administrators', settings)).join()
    expect(await administrators()).toMatch(
      /^warning: ADMIN_GROUP names the group admins, which does not exist.*; SUPPORT_GROUP names the group helpers/,
    )
    await admin.query("insert into groups (name, created_at) values ('admins', now()), ('helpers', now())")
    await admin.query(
      `insert into users (id, email, email_key, username, username_key, created_at, groups)
       values (gen_random_uuid(), 'ada@example.com', 'ada@example.com', 'ada', 'ada', now(), '{admins}')`,
    )
    expect(await administrators()).toMatch(
      /^warning: no member of admins \(ADMIN_GROUP\) has a second factor.*; no user who can sign in is in helpers/,
    )
    await admin.query("update users set groups = '{admins,helpers}'")
    await admin.query(
      "insert into totp_secrets (user_id, secret, created_at, last_step) select id, '', now(), 0 from users",
    )
    await admin.query(
      `insert into outgoing_mail (id, recipient_key, kind, created_at, attempts, last_error, next_attempt_at)
       values (gen_random_uuid(), '', 'reset', now(), 0, null, now()), (gen_random_uuid(), '', 'reset', now(), 1, 'no', now())`,
    )
    expect(await administrators()).toBe(
      'ok: admins has 1 member, 1 with a second factor; helpers has 1 member, 1 with a second factor',
    )
    expect(await examineOne(databaseChecks, 'waiting mails', settings)).toEqual([
      'warning: 1 mail waits after a failed attempt: `latchkey mails list` says why',
    ])
    await admin.query(
      `insert into events (id, kind, reason, ip, user_agent, created_at)
       select first_event_id((now() - age) at time zone 'utc'), 'ceiling_reached', reason, '', '', now() - age
       from (values ('total_mails', interval '1 hour'), ('total_registrations', interval '2 days')) as reached (reason, age)`,
    )
    expect(await examineOne(databaseChecks, 'limits', settings)).toEqual([
      expect.stringMatching(/^warning: reached in the last 24 hours: total_mails\. /),
    ])
    await admin.query('delete from users')
    await admin.query('delete from outgoing_mail')
    await admin.close()
  })

  it('fails a database that was never migrated', async () => {
    const empty = await emptyPostgres()
    const { code, about } = await examine({ ...healthy, DATABASE_URL: empty.url }).finally(() => empty.drop())
    expect(code).toBe(1)
    const { length } = await migrationNames()
    expect(about('database schema')).toEqual([
      `error: none of the ${length} migrations is applied yet: run \`latchkey migrate\``,
    ])
  })

  it('fails each store and server that is down, in time, and looks at the others all the same', async () => {
    const [down, silent] = [await freePort(), await startOddServer()]
    const time = startStopwatch()
    const { code, about, text } = await examine({
      ...healthy,
      DATABASE_URL: `postgres://${role}:${password}@127.0.0.1:${down}/latchkey`,
      DATABASE_OWNER_URL: `postgres://owner:${password}@127.0.0.1:${silent.port}/latchkey`,
      REDIS_URL: `redis://:${password}@127.0.0.1:${down}`,
      SMTP_URL: `smtp://mailer:${password}@127.0.0.1:${silent.port}`,
      PROVIDER_A_ISSUER: `http://127.0.0.1:${down}`,
    })
    await silent.stop()
    expect([code, time() < 9_000]).toEqual([1, true])
    expect(about('database')).toEqual([expect.stringMatching(/^error: PostgreSQL at .* cannot be used/)])
    // Two deadlines end at the same moment, and on a busy machine either may be first.
    expect(about('database owner')).toEqual([
      expect.stringMatching(
        new RegExp(
          `^error: PostgreSQL at 127.0.0.1:${silent.port} .*(does not answer|not accept the connection in time)$`,
        ),
      ),
    ])
    expect(about('redis')).toEqual([expect.stringMatching(/^error: Redis cannot be used: .*ECONNREFUSED/)])
    expect(about('not checked')).toEqual([
      expect.stringMatching(/^warning: database encryption, .*, profile fields: the database cannot be used$/),
      'warning: redis encryption, redis policy, redis clock: Redis cannot be used',
      'warning: mail encryption: the mail server cannot be used',
    ])
    expect(about('mail')).toEqual([
      expect.stringMatching(/^error: 127\.0\.0\.1:\d+ does not answer in time: check .* \(ETIMEDOUT/),
    ])
    expect(about('provider A')).toEqual([expect.stringMatching(/^error: .* cannot be discovered: unreachable/)])
    expect(about('provider B')).toEqual([expect.stringMatching(/^ok: /)])
    expect(text).not.toContain(password)
  })

  it('asks every host of the database, and names the one that cannot be used', async () => {
    const down = `127.0.0.1:${await freePort()}`
    const { host } = new URL(database.url)
    const { code, about } = await examine({
      ...healthy,
      DATABASE_URL: (healthy.DATABASE_URL ?? '').replace(host, `${host},${down}`),
    })
    expect(code).toBe(0)
    expect(about('database hosts')).toEqual([expect.stringMatching(`^warning: ${down} cannot be used: .*ECONNREFUSED`)])
  })

  it('says what is wrong with the address of a Redis that answers', async () => {
    const redis = await createRedisServer(['--requirepass', password])
    const about = (url: string) => examineOne(redisChecks, 'redis', { REDIS_URL: url })
    const at = `127.0.0.1:${redis.port}`
    const [wrong, none, database, encrypted] = await Promise.all(
      [`redis://:wrong@${at}`, `redis://${at}`, `redis://:${password}@${at}/99`, `rediss://:${password}@${at}`].map(
        about,
      ),
    )
    await redis.remove()
    const unusable = 'error: Redis cannot be used:'
    expect(wrong).toEqual([`${unusable} the server refuses the user or the password in REDIS_URL`])
    expect(none).toEqual([`${unusable} the server asks for a password, and REDIS_URL has none`])
    expect(database).toEqual([
      `${unusable} the server does not have the database that REDIS_URL names: write a lower number`,
    ])
    expect(encrypted).toEqual([expect.stringMatching(/^error: Redis cannot be used: .*write redis:\/\//)])
  })

  it('names a mail certificate that is not trusted, and says when credentials were not asked for', async () => {
    const { key, cert } = await makeCertificate(folder, 'mail')
    const files = { key: await readFile(key), cert: await readFile(cert) }
    const encrypted = await startSmtpInbox({ disabledCommands: [], ...files })
    const silent = await startSmtpInbox({ disabledCommands: ['STARTTLS', 'AUTH'] })
    const about = (url: string) => examineOne(outsideChecks, 'mail', { SMTP_URL: url })
    const [untrusted, plain, unasked] = await Promise.all([
      about(`${encrypted.url}?requireTLS=true`),
      about(`smtps://127.0.0.1:${silent.port}`),
      about(`smtp://mailer:${password}@127.0.0.1:${silent.port}`),
    ])
    await Promise.all([encrypted.stop(), silent.stop()])
    expect(untrusted).toEqual([
      expect.stringMatching(/^error: .* is not from a known authority; set NODE_EXTRA_CA_CERTS .*SELF_SIGNED_CERT\)$/),
    ])
    expect(plain).toEqual([expect.stringMatching(/^error: .* does not speak TLS on this port; write smtp:\/\//)])
    expect(unasked).toEqual([expect.stringMatching(/^warning: the server did not ask for the user and the password/)])
  })

  it('warns of a Redis that drops counters when it is full, and fails one that is full, and a replica', async () => {
    const redis = await createRedisServer(['--maxmemory', '8mb', '--maxmemory-policy', 'allkeys-lru'])
    const about = (name: string) => examineOne(redisChecks, name, { REDIS_URL: redis.url })
    try {
      expect(await about('redis policy')).toEqual([
        expect.stringMatching(/^warning: maxmemory-policy is allkeys-lru: .*set noeviction/),
      ])
      await redis.command('config', 'set', 'maxmemory-policy', 'noeviction')
      await redis.command('config', 'set', 'maxmemory', '1')
      expect(await about('redis')).toEqual([expect.stringMatching(/^error: the server is full/)])
      await redis.command('config', 'set', 'maxmemory', '0')
      await redis.command('replicaof', '127.0.0.1', String(await freePort()))
      expect(await about('redis')).toEqual([expect.stringMatching(/^error: .* is a replica/)])
    } finally {
      await redis.remove()
    }
  })
})

describe('on settings alone', () => {
  const ownDatabase = () => ({ DATA_DIR: join(folder, 'none') })

  it('names each fault of the settings and never a value', async () => {
    const { code, text, about } = await examine({
      NODE_ENV: 'production',
      JWT_SECRET: `${password}`,
      PORT: 'eighty',
      JWT_SECRETT: 'x',
    })
    expect(code).toBe(1)
    expect(about('settings')).toContain('error: JWT_SECRET: must have at least 64 characters')
    expect(about('settings')).toContain('error: PUBLIC_URL: must be set in production')
    expect(about('settings')).toContain('warning: JWT_SECRETT is not a setting; did you mean JWT_SECRET?')
    expect(text).not.toContain(password)
    expect(text).not.toContain('eighty')
  })

  it('reads the file of profile fields, and names the place of a fault', async () => {
    const path = join(folder, 'fields.json')
    const checked = async (content: string) => {
      await writeFile(path, content)
      return examineOne(databaseChecks, 'profile fields', { ...ownDatabase(), PROFILE_FIELDS_FILE: path })
    }
    const field = (key: string, type: string) => JSON.stringify({ fields: [{ key, type, labels: { en: 'Team' } }] })
    expect(await checked(field('team', 'text'))).toEqual(['ok: 1 field'])
    const noJson = `error: PROFILE_FIELDS_FILE: ${path} is no JSON:`
    expect(await checked('{\n  "fields": [\n    }\n}')).toEqual([`${noJson} Unexpected token '}' in line 3`])
    expect(await checked('{\n  "fields": [\n    {} {}')).toEqual([
      `${noJson} Expected ',' or ']' after array element in line 3`,
    ])
    expect(await checked(field('Team', 'text'))).toEqual([
      expect.stringMatching(/^error: PROFILE_FIELDS_FILE: fields\[0\]\.key must be 1 to 24 .*fields\.json/),
    ])
    expect(await checked(field('team', 'number'))).toEqual([
      expect.stringMatching(/^error: PROFILE_FIELDS_FILE: fields\[0\] \(team\)\.type must be text, .*fields\.json/),
    ])
  })

  it('never makes the database that it is asked about, and warns of an owner without one of the service', async () => {
    const { code, about } = await examine({ ...ownDatabase(), DATABASE_OWNER_URL: database.url })
    expect(code).toBe(0)
    expect(about('database owner')).toEqual([expect.stringMatching(/^warning: .* because DATABASE_URL is not set$/)])
    expect(about('database')).toEqual([
      expect.stringMatching(/^ok: PostgreSQL of its own in .*: not looked at while the service does not run$/),
    ])
    expect(await readdir(folder)).not.toContain('none')
  })
})
