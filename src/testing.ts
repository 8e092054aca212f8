import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isGroupName } from './contract/groups.js'
import { isRefused, type Refused } from './contract/outcome.js'
import { serviceScopes } from './contract/service.js'
import { days } from './lib/durations.js'
import { createWaitingMails } from './messages/mails.js'
import { makeTemporaryFolder } from './platform/temporary-folder.js'
import { newServiceKey } from './programs/service-keys.js'
import { type App, startApp } from './service/open-service.js'
import { type Environment, likelyTypos, loadConfig, unknownSettings } from './settings/config.js'
import { displayName, readEmail, readUsername } from './users/names.js'

// The second way into the program: the service in the process of a test, for `@latchkey/testing`. It is a module of this package and
// no command, so that no route and no setting of a running service can move its clock or make a user.

/** With these, no limit stops a test, and the service closes at once. A setting that the test gives replaces the one here. */
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
  TOTAL_REGISTRATION_LIMIT: '100000/1h',
  TOTAL_MAIL_LIMIT: '200000/1h',
  TOTAL_WAITING_LIMIT: '100000/10m',
  SENSITIVE_LIMIT: '100000/1h',
  DRAIN_DELAY: '0ms',
  LOG_LEVEL: 'error',
}

/** Far below what the settings allow: the passwords of tests protect nothing. */
const quickBcryptCost = 4

const createTestClock = () => {
  let offset = 0
  return {
    now: () => new Date(Date.now() + offset),
    offset: () => offset,
    advance: (milliseconds: number) => {
      offset += milliseconds
    },
  }
}

const testClient = { ip: '127.0.0.1', userAgent: '' }

type NewTestUser = { username: string; email: string; password: string; name?: string; groups?: readonly string[] }

/** A test wants to know at once that it asked for something impossible. */
const orThrow = <Outcome>(outcome: Outcome, { username, email }: NewTestUser): Exclude<Outcome, Refused> => {
  if (isRefused(outcome))
    throw new Error(`The user ${username} with the address ${email} was not added: ${outcome.refused}`)
  return outcome as Exclude<Outcome, Refused>
}

const requireGroupNames = (names: readonly unknown[]) => {
  for (const name of names)
    if (!isGroupName(name))
      throw new TypeError(
        `groups: ${String(name)} is no name of a group: up to 32 small letters, digits, dots, underscores and hyphens`,
      )
}

/** Adds a user by the functions that commands use. The email counts as proven; the rules for passwords do not matter. */
const createAddUser =
  ({ rooms, platform: { database } }: App) =>
  async (given: NewTestUser) => {
    const { groups = [] } = given
    requireGroupNames(groups)
    const username = orThrow(readUsername(given.username), given)
    const email = orThrow(readEmail(given.email), given)
    const passwordHash = orThrow(await rooms.passwords.hash(given.password, testClient), given)
    const person = { email, username, name: displayName(given.name), passwordHash, emailProven: true }
    for (const group of groups) await rooms.groups.add(group, testClient)
    const added = await database.transaction(async (sql) => {
      const { id } = orThrow(await rooms.newUsers.create(sql, person), given)
      orThrow(await rooms.groups.change(sql, { id, groups: [] }, { add: groups }), given)
      return { id }
    })
    // Without an event the sender of webhooks would look some seconds later.
    rooms.webhooks.wake()
    return added
  }

/** Waits until every mail is sent. A mail that still waits when the clock is moved would be too old for its reader. */
const createWaitForMails = ({ platform: { database } }: App) => {
  const waiting = createWaitingMails({ database })
  return async () => {
    while ((await waiting.list(1)).length > 0) await wait(10)
  }
}

/** A misspelt setting would leave the test with the usual value. */
const refuseUnknownSettings = (settings: Environment) => {
  const [unknown] = unknownSettings(settings)
  if (unknown !== undefined) throw new TypeError(likelyTypos(settings)[0] ?? `${unknown} is not a setting`)
}

/** Writes the service keys of the test, and one for `@latchkey/testing` itself that may do everything. */
const writeServiceKeys = async (file: string, testFile: string | undefined) => {
  const { key, line } = newServiceKey('testing', { scopes: serviceScopes })
  const linesOfTest = testFile ? await readFile(testFile, 'utf8') : ''
  await writeFile(file, `${line}\n${linesOfTest}`)
  return key
}

/** Starts the service on a PostgreSQL of its own that is thrown away with it. */
export const startTestService = async (settings: Record<string, string>) => {
  refuseUnknownSettings(settings)
  const { path: dataDir, remove: removeData } = await makeTemporaryFolder('latchkey-testing-')
  const serviceKeysFile = join(dataDir, 'service-keys')
  const environment = { ...usualSettings, DATA_DIR: dataDir, ...settings, SERVICE_KEYS_FILE: serviceKeysFile }
  const clock = createTestClock()
  try {
    const serviceKey = await writeServiceKeys(serviceKeysFile, settings.SERVICE_KEYS_FILE)
    const config = Object.freeze({ ...loadConfig(environment), bcryptCost: quickBcryptCost })
    if (config.production) throw new Error('NODE_ENV: a service for tests is not for production')
    // A service with quick hashes and without limits must never serve the users of another.
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
    const waitForMails = createWaitForMails(app)
    return {
      url: app.config.publicUrl,
      serviceKey,
      addUser: createAddUser(app),
      /** Newest first. */
      mails: () => app.platform.mailbox?.mails() ?? [],
      now: clock.now,
      advance: async (milliseconds: number) => {
        await waitForMails()
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
