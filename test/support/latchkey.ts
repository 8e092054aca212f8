import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { createSchemaCompilers } from '../../src/http/schema-compilers.js'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { type Assets, loadAssets } from '../../src/pages/assets.js'
import { createWorkers, type Workers } from '../../src/passwords/workers.js'
import { createLog } from '../../src/platform/log.js'
import type { DeliveredMail } from '../../src/platform/mail/mail.js'

import { startApp } from '../../src/service/open-service.js'
import { loadConfig } from '../../src/settings/config.js'
import { createBrowser } from './client.js'
import { createMovableClock, type MovableClock } from './clock.js'
import { freshPostgres } from './databases.js'
import { signUpDirectly } from './sign-up-directly.js'
import { until } from './until.js'

/** `own`: the PostgreSQL that the service brings along, as after `npm start`. */
type StoreKind = 'own' | 'postgres'

/** Satisfies every rule of docs/specification.md, 5.4, and the estimator. */
export const goodPassword = 'violet-Harbor-91-lantern'

/** So that limits do not stand in the way of a test, and a service closes at once. */
const testSettings = {
  NODE_ENV: 'test',
  HOST: '127.0.0.1',
  PORT: '0',
  GENERAL_LIMIT: '100000/15m',
  LOGIN_LIMIT: '100000/15m',
  ACCOUNT_LIMIT: '100000/1h',
  SIGN_IN_LIMIT: '100000/1h',
  NETWORK_SIGN_IN_LIMIT: '100000/1h',
  NETWORK_MAIL_LIMIT: '100000/1h',
  SENSITIVE_LIMIT: '100000/1h',
  TRUST_PROXY: '127.0.0.1',
  DRAIN_DELAY: '0ms',
  LOG_LEVEL: 'debug',
}

type Settings = Record<string, string>

/** Far below what the settings allow: a test that is about the cost sets its own. */
const quickBcryptCost = 4

const configFor = (settings: Settings, mailIsOff = false) => {
  const config = loadConfig(settings)
  return Object.freeze({
    ...config,
    ...(!settings.BCRYPT_COST && { bcryptCost: quickBcryptCost }),
    ...(mailIsOff && { mailIsOff, registration: 'closed' as const }),
  })
}

/** Long, because the machine may be busy with other tests. */
const workerDeadline = 1 * minutes
const longTimeouts = { connection: 1 * minutes, statement: 1 * minutes, counters: 10 * seconds }

/** Compiling schemas takes a quarter of the time of many tests: the services of a test process share what is compiled. */
const schemaCompilers = createSchemaCompilers()

let sharedWorkers: Promise<Workers> | undefined
let sharedAssets: Promise<Assets> | undefined

const warmedWorkers = async () => {
  const workers = createWorkers({ threads: 2, deadline: workerDeadline })
  await workers.estimate(goodPassword, [])
  return workers
}

/** Parts that the services of a test process share: threads that have loaded their dictionaries, compiled schemas, and files. */
export const sharedParts = async () => {
  sharedWorkers ??= warmedWorkers()
  return { workers: await sharedWorkers, schemaCompilers, assets: await readAssets() }
}

const readAssets = () => {
  sharedAssets ??= loadAssets()
  return sharedAssets
}

/** A service has its own threads only where a test is about them: loading the dictionaries takes most of a second. */
const workersFor = async ({ WORKER_THREADS, WORKER_QUEUE }: Settings) => {
  if (WORKER_THREADS || WORKER_QUEUE) {
    const numbers = { threads: Number(WORKER_THREADS ?? 2), queueLimit: Number(WORKER_QUEUE ?? 100) }
    const workers = createWorkers({ ...numbers, deadline: workerDeadline })
    return { workers, close: workers.close }
  }
  sharedWorkers ??= warmedWorkers()
  return { workers: await sharedWorkers, close: async () => {} }
}

const storesFor = async (kind: StoreKind, dataDir: string): Promise<{ settings: Settings; drop(): Promise<void> }> => {
  if (kind === 'own') return { settings: { DATA_DIR: dataDir }, drop: async () => {} }
  const { url, drop } = await freshPostgres()
  const prefix = `test:${Math.random().toString(36).slice(2)}:`
  const redis = process.env.TEST_REDIS_URL
  if (!redis) throw new Error('TEST_REDIS_URL is not set: run the tests with npm test')
  return { settings: { DATA_DIR: dataDir, DATABASE_URL: url, REDIS_URL: redis, REDIS_PREFIX: prefix }, drop }
}

type StartOptions = {
  stores?: StoreKind
  settings?: Settings
  clock?: MovableClock
  /** As in production without SMTP_URL. */
  mailIsOff?: boolean
  /** For a test about stores that do not answer: as long as the service usually waits for them. */
  hasUsualTimeouts?: boolean
  /** For a test about the service's own clean-ups: how often they run. In the other tests they never run. */
  housekeepingInterval?: number
}

/** A running service on a free port with its own stores, a clock that can be moved, and everything it logged. */
export const startLatchkey = async (options: StartOptions = {}) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-test-'))
  const { settings, drop } = await storesFor(options.stores ?? 'postgres', dataDir)
  const clock = options.clock ?? createMovableClock()
  const logLines: string[] = []
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      logLines.push(chunk.toString())
      done()
    },
  })
  const given = { ...testSettings, ...settings, ...options.settings }
  const config = configFor(given, options.mailIsOff)
  const { workers, close: closeWorkers } = await workersFor(given)
  const log = createLog({ level: config.logLevel, destination })
  const app = await startApp(config, {
    clock,
    log,
    workers,
    schemaCompilers,
    assets: await readAssets(),
    housekeepingInterval: options.housekeepingInterval ?? 1 * days,
    ...(options.stores === 'own' && { givenSettings: given }),
    ...(options.hasUsualTimeouts ? {} : { storeTimeouts: longTimeouts }),
    onFatal: (error) => {
      throw error
    },
  })
  // On a busy machine it may take longer than the service waits before it opens its port.
  if (options.stores === 'own') await app.prepared
  const { publicUrl } = app.config

  const mails = () => app.platform.mailbox?.mails() ?? []
  /** The newest mail to an address whose subject or text matches; waits for the outbox to send it. `before`: not one of these. */
  const mailTo = async (address: string, pattern: RegExp = /./, before: readonly DeliveredMail[] = []) => {
    const matches = ({ to, subject, text }: DeliveredMail) => to === address && pattern.test(`${subject}\n${text}`)
    const newest = () => mails().find((mail) => matches(mail) && !before.includes(mail))
    await until(`a mail for ${address} that matches ${pattern}`, () => newest() !== undefined)
    const mail = newest()
    if (!mail) throw new Error(`The mail for ${address} has gone again`)
    return mail
  }

  const browser = () => createBrowser(publicUrl)

  /** A browser of a user who has registered, proven the address by mail, and is signed in. For tests about that way. */
  const registered = async (username: string, { email = `${username}@example.com`, password = goodPassword } = {}) => {
    const tab = browser()
    const before = [...mails()]
    const asked = await tab.post('/api/auth/register', { username, email, password })
    if (asked.status !== 202) throw new Error(`The registration of ${username} began with ${asked.status}`)
    const { text } = await mailTo(email, /verify-email#token=/, before)
    const token = /#token=([\w-]+)/.exec(text)?.[1]
    const { status } = await tab.post('/api/auth/verify-email', { token })
    if (status !== 200) throw new Error(`The registration of ${username} ended with ${status}`)
    return tab
  }

  /** A user and a session as after a registration, without its requests, rules, limits and mail. */
  const signedUp = async (username: string, { email = `${username}@example.com`, password = goodPassword } = {}) => {
    const tab = browser()
    tab.jar.keep(await signUpDirectly(app, { username, email, password }))
    return tab
  }

  /** Time passes: what was to be sent before has been sent, so that no mail is suddenly too late for its reader. */
  const advance = async (milliseconds: number) => {
    const waiting = 'select 1 from outgoing_mail where next_attempt_at is not null limit 1'
    // Another instance may have written one.
    app.rooms.mails.nudge()
    await until('no mail waits', async () => (await app.platform.database.query(waiting)).length === 0)
    clock.advance(milliseconds)
  }

  return {
    app,
    clock,
    advance,
    url: publicUrl,
    config: app.config,
    logLines,
    mails,
    mailTo,
    browser,
    signedUp,
    registered,
    sql: app.platform.database,
    stop: async () => {
      await app.close()
      await closeWorkers()
      await drop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export type Latchkey = Awaited<ReturnType<typeof startLatchkey>>
