// The second way into the program: the service in the process of a test, for `@latchkey/testing`. It is a module of this package and
// no command, so that no route and no setting of a running service can move its clock or make a user.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type App, startApp } from './app.js'
import { loadConfig } from './config.js'
import { isRefused, type Refused } from './contract/outcome.js'
import { createWaitingMails } from './domain/mails/waiting-mails.js'
import { newServiceKey, serviceScopes } from './domain/service-keys/service-keys.js'
import { displayName } from './domain/users/display-name.js'
import { readEmail } from './domain/users/email.js'
import { readUsername } from './domain/users/username.js'
import { days } from './lib/durations.js'

/** Limits do not stand in the way of a test, and a service closes at once. What a test sets itself comes first. */
const usualSettings = {
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
  DRAIN_DELAY: '0ms',
  LOG_LEVEL: 'error',
}

/** Far below what the settings allow: the passwords of tests protect nothing. */
const quickBcryptCost = 4

const createTestClock = () => {
  let moved = 0
  return {
    now: () => new Date(Date.now() + moved),
    offset: () => moved,
    advance: (milliseconds: number) => {
      moved += milliseconds
    },
  }
}

const nobody = { ip: '127.0.0.1', userAgent: '' }

type NewTestUser = { username: string; email: string; password: string; name?: string; groups?: readonly string[] }

/** A test wants to know at once that it asked for something impossible. */
const orThrow = <Outcome>(outcome: Outcome): Exclude<Outcome, Refused> => {
  if (isRefused(outcome)) throw new Error(`The user was not added: ${outcome.refused}`)
  return outcome as Exclude<Outcome, Refused>
}

/** By the functions that commands use. The email counts as proven; the rules for passwords do not matter. */
const createAddUser =
  ({ nouns, platform: { database } }: App) =>
  async ({ groups = [], password, ...given }: NewTestUser) => {
    const username = orThrow(readUsername(given.username))
    const email = orThrow(readEmail(given.email))
    const passwordHash = orThrow(await nouns.passwords.hash(password, nobody))
    const person = { email, username, name: displayName(given.name), passwordHash, emailProven: true }
    for (const group of groups) await nouns.groups.add(group, nobody)
    return database.transaction(async (sql) => {
      const { id } = orThrow(await nouns.newUsers.create(sql, person))
      orThrow(await nouns.groups.change(sql, { id, groups: [] }, { add: groups }))
      return { id }
    })
  }

/** No mail may wait while time moves on: it would be too old for its reader. */
const createNothingWaits = ({ platform: { database } }: App) => {
  const waiting = createWaitingMails({ database })
  return async () => {
    while ((await waiting.list(1)).length > 0) await wait(10)
  }
}

/** Starts the service on an embedded database that is thrown away with it. */
export const startTestService = async (settings: Record<string, string>) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'latchkey-testing-'))
  const { key, line } = newServiceKey('testing', { scopes: serviceScopes })
  const serviceKeysFile = join(dataDir, 'service-keys')
  await writeFile(serviceKeysFile, `${line}\n`)
  const given = { ...usualSettings, DATA_DIR: dataDir, SERVICE_KEYS_FILE: serviceKeysFile, ...settings }
  const clock = createTestClock()
  const removeData = () => rm(dataDir, { recursive: true, force: true })
  try {
    const config = Object.freeze({ ...loadConfig(given), bcryptCost: quickBcryptCost })
    if (config.production) throw new Error('NODE_ENV: a service for tests is not for production')
    // With quick hashes and without limits it must never serve the users of another.
    if (config.databaseUrl || config.redisUrl)
      throw new Error('DATABASE_URL, REDIS_URL: a service for tests has its own')
    const app = await startApp(config, {
      clock,
      // A clean-up by a clock that was moved would delete rows that the test still asks for.
      housekeepingInterval: 20 * days,
      onFatal: (error) => {
        throw error
      },
    })
    await app.prepared
    const nothingWaits = createNothingWaits(app)
    return {
      url: app.config.publicUrl,
      serviceKey: key,
      addUser: createAddUser(app),
      /** Newest first. */
      mails: () => app.platform.mailbox?.mails() ?? [],
      now: clock.now,
      advance: async (milliseconds: number) => {
        await nothingWaits()
        clock.advance(milliseconds)
      },
      close: async () => {
        await app.close()
        await removeData()
      },
    }
  } catch (error) {
    await removeData()
    throw error
  }
}
