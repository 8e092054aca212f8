import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, resolve } from 'node:path'
import { isRefused } from '../../contract/outcome.js'
import { refreshTokenLifetime } from '../../http/cookie-table.js'
import { systemClock } from '../../lib/clock.js'
import { days, seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import { explainReadFault, leakedFileFault, verifyLeakedFile } from '../../passwords/leaked-list.js'
import { createWorkers, requireWorkerPackages } from '../../passwords/workers.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { secretsFolder } from '../../platform/own-postgres/kept-secrets.js'
import { readServiceKeys } from '../../programs/service-keys.js'
import { readDesign, readOwnWords, readProfileFields } from '../../service/operator-files.js'
import type { Config } from '../../settings/config.js'
import { createProfileFields } from '../../users/profile-fields.js'
import {
  type Check,
  type CheckGroup,
  checkSecretFiles,
  type Finding,
  failure,
  ok,
  spaceAt,
  warning,
  worstOf,
} from './check.js'

const checkProxy = ({ publicUrl, trustProxy }: Config): Finding => {
  if (trustProxy?.length) return ok(`X-Forwarded-For is trusted from ${trustProxy.join(', ')} only`)
  return trustProxy === undefined && publicUrl.startsWith('https:')
    ? warning(
        'PUBLIC_URL is https, so there is a proxy, but TRUST_PROXY is not set: all clients share its limits. Set it to the address from which the proxy connects; the page /api/auth/setup names it',
      )
    : ok('no proxy is trusted: limits count the address that a client connects from')
}

/** An old secret is needed as long as a refresh token lasts, so more than two of them are hardly needed at once. */
const maxOldSecrets = 2
const cheapestCost = 4

const checkSecrets = ({ jwtSecret }: Config): Finding => {
  if (!jwtSecret) return ok('the signing secret was made by the service and is kept in DATA_DIR')
  const oldSecretCount = jwtSecret.length - 1
  const findings = [
    new Set(jwtSecret).size < jwtSecret.length ? warning('JWT_SECRET names one secret twice') : ok(''),
    oldSecretCount > maxOldSecrets
      ? warning(
          `JWT_SECRET holds ${oldSecretCount} old secrets: remove those that are older than ${refreshTokenLifetime / days} days`,
        )
      : ok(''),
  ]
  const shortest = Math.min(...jwtSecret.map((secret) => secret.length))
  if (oldSecretCount === 0) return ok(`one secret of ${shortest} characters`)
  const verifyingText = `${oldSecretCount} other${oldSecretCount === 1 ? ' still verifies' : 's still verify'}`
  const summary = `the first of ${jwtSecret.length} signs, ${verifyingText}; at least ${shortest} characters each`
  return worstOf(summary, findings)
}

/** How long before the end of a key the operator is warned, to have time for giving the program a new one. */
const warningPeriod = 14 * days

const checkServiceKeys = async (path: string): Promise<Finding> => {
  const keys = await readServiceKeys(path)
  const now = systemClock.now().getTime()
  const expiringKeys = keys.flatMap(({ name, expiresAt }) => {
    if (!expiresAt || expiresAt.getTime() > now + warningPeriod) return []
    return `${name} ${expiresAt.getTime() <= now ? 'has expired' : 'expires'} (${expiresAt.toISOString()})`
  })
  const says = `${countText(keys.length, 'key')} in ${path}`
  return expiringKeys.length === 0
    ? ok(says)
    : warning(`${says}: ${expiringKeys.join(', ')}. Make a new key, and delete the line of the old one`)
}

const checkTheme = async (config: Config, path: string): Promise<Finding> => {
  await readDesign(config)
  return ok(`${path} can be used, and its colours can be read`)
}

const checkWords = async (path: string): Promise<Finding> => {
  const { pages, mails } = await readOwnWords({ wordsFile: path })
  const texts = [pages, mails].flatMap((each) => Object.values(each).flatMap((ofLanguage) => Object.keys(ofLanguage)))
  return ok(`${countText(texts.length, 'text')} in ${path}`)
}

/** Reads the whole file, which a start of the service does not do. */
const checkLeakedPasswords = async (path: string): Promise<Finding> => {
  const verification = await explainReadFault(path, verifyLeakedFile(path, AbortSignal.timeout(5 * seconds)))
  if (isRefused(verification)) throw leakedFileFault(path, verification.refused)
  const verificationText = verification.comparedAll
    ? 'complete and unchanged'
    : 'complete; too large to compare all of it here'
  return ok(`${countText(verification.count, 'leaked password')} in ${path}, ${verificationText}`)
}

const isWritable = (path: string) =>
  access(path, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
const statusOf = (path: string) => stat(path).catch(() => undefined)

/** The directory, or the nearest one above it that exists: the directory would be created there. */
const nearestExisting = async (directory: string): Promise<string> =>
  (await statusOf(directory)) || dirname(directory) === directory ? directory : nearestExisting(dirname(directory))

const checkDataDirectory = async ({ dataDir, databaseUrl, jwtSecret }: Config): Promise<Finding> => {
  if (databaseUrl !== undefined && jwtSecret !== undefined) return ok('nothing is kept in DATA_DIR')
  const directory = resolve(dataDir)
  const existing = await nearestExisting(directory)
  if (!(await isWritable(existing))) return failure(`${existing} cannot be written to by this user: see DATA_DIR`)
  if (existing !== directory) return ok(`${directory} will be created at the first start`)
  const secrets = await statusOf(secretsFolder(directory))
  const readableByOthers = secrets !== undefined && (secrets.mode & 0o077) !== 0
  const { finding, freeText } = await spaceAt(directory)
  return worstOf(`${directory} can be written to${freeText}`, [
    readableByOthers ? warning(`${secretsFolder(directory)} can be entered by other users: chmod 700`) : ok(''),
    finding,
  ])
}

const checkThreads = ({ workerThreads: threadsPerProcess, workers, bcryptCost }: Config): Finding => {
  const cores = availableParallelism()
  if (threadsPerProcess === undefined)
    return ok(`as many threads as suit ${countText(cores, 'core')}, bcrypt at cost ${bcryptCost}`)
  const allThreads = threadsPerProcess * workers
  return allThreads > cores
    ? warning(
        `WORKER_THREADS is ${threadsPerProcess}${workers > 1 ? ` in each of ${workers} processes` : ''} on ${countText(cores, 'core')}: more threads than cores are not faster, and requests wait`,
      )
    : ok(`${countText(allThreads, 'thread')} on ${countText(cores, 'core')}, bcrypt at cost ${bcryptCost}`)
}

/** Hashes a password as a sign-in does, in a thread and at full cost, to see how long that takes. */
const checkPasswords = async ({ bcryptCost }: Config): Promise<Finding> => {
  await requireWorkerPackages()
  const hasher = createWorkers({ threads: 1 })
  try {
    // The first hash also starts the thread.
    await hasher.hash('a password', cheapestCost)
    const start = performance.now()
    await hasher.hash('a password', bcryptCost)
    const elapsed = ((performance.now() - start) / seconds).toFixed(1)
    return ok(`hashed in threads; a hash at cost ${bcryptCost} takes ${elapsed} s`)
  } finally {
    await hasher.close()
  }
}

/** Checks that need no other server. */
export const machineChecks = (config: Config, secretFiles: readonly string[] = []): CheckGroup => {
  const { serviceKeysFile, breachedPasswords, themeFile, wordsFile } = config
  const checks: Check[] = [
    { name: 'proxy', run: () => checkProxy(config) },
    { name: 'secrets', run: () => checkSecrets(config) },
    ...(secretFiles.length === 0 ? [] : [{ name: 'secret files', run: () => checkSecretFiles(secretFiles) }]),
    { name: 'data directory', run: () => checkDataDirectory(config) },
    { name: 'threads', run: () => checkThreads(config) },
    { name: 'passwords', run: () => checkPasswords(config) },
    ...(breachedPasswords === undefined
      ? []
      : [{ name: 'leaked passwords', run: () => checkLeakedPasswords(breachedPasswords) }]),
    ...(themeFile === undefined ? [] : [{ name: 'theme', run: () => checkTheme(config, themeFile) }]),
    ...(wordsFile === undefined ? [] : [{ name: 'words', run: () => checkWords(wordsFile) }]),
    ...(serviceKeysFile === undefined ? [] : [{ name: 'service keys', run: () => checkServiceKeys(serviceKeysFile) }]),
  ]
  return { checks }
}

/** Checks the file, and what users have: required fields that most users lack, and values of fields that are no longer in the file. */
export const checkProfileFields = async ({ profileFieldsFile }: Config, database?: Database): Promise<Finding> => {
  const definitions = await readProfileFields(profileFieldsFile)
  const okText = definitions.length === 0 ? 'none' : countText(definitions.length, 'field')
  if (!database) return ok(okText)
  const counts = await createProfileFields({ database, clock: systemClock, definitions }).count()
  const [row] = await database.query<{ users: number }>('select count(*)::int as users from users')
  const users = row?.users ?? 0
  const mostlyMissingFields = definitions.filter(
    ({ key, required }) => required && (counts.find((each) => each.key === key)?.users ?? 0) < users / 2,
  )
  const leftoverFields = counts.filter(({ key }) => !definitions.some((each) => each.key === key))
  return worstOf(okText, [
    ...mostlyMissingFields.map(({ key }) =>
      warning(`most users have no ${key}, which is required: each is asked for it at the next sign-in`),
    ),
    ...leftoverFields.map((each) =>
      warning(
        `${each.key} has left PROFILE_FIELDS_FILE, but values are left (${countText(each.users, 'user')}): latchkey fields purge ${each.key} --yes`,
      ),
    ),
    ok(''),
  ])
}

/** Names the limits of the whole installation that were reached lately. An attack may be the cause, or more users than before. */
export const checkCeilings = async (sql: Sql): Promise<Finding> => {
  const rows = await sql.query<{ reason: string }>(
    `select distinct reason from events
     where kind = 'ceiling_reached' and id >= first_event_id((now() - interval '1 day') at time zone 'utc') order by reason`,
  )
  return rows.length === 0
    ? ok('no limit of the whole service was reached in the last 24 hours')
    : warning(
        `reached in the last 24 hours: ${rows.map(({ reason }) => reason).join(', ')}. If it was no attack, raise the setting that docs/api.md names for the limiter`,
      )
}
