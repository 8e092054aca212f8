import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { reasonOf } from '../../lib/caught.js'
import { seconds } from '../../lib/durations.js'
import { isThisMachine } from '../../lib/networks.js'
import { countText } from '../../lib/text.js'
import { withTimeout } from '../../lib/timing.js'
import { type RedisAddress, redisHosts } from '../../platform/cache/redis-address.js'
import type { Database } from '../../platform/database/database.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import { freeSpaceAt, proveSpace } from '../../platform/database/space-watch.js'
import type { SmtpServer } from '../../platform/mail/smtp-address.js'
import type { Environment } from '../../settings/config.js'
import {
  type Protection,
  protectionOfDatabase,
  protectionOfMail,
  protectionOfRedis,
} from '../../settings/connections.js'

type Level = 'ok' | 'warning' | 'error'
/** With `skippedBecause` nothing was checked. Checks that are skipped for the same reason share one line of the report. */
export type Finding = { level: Level; says: string; skippedBecause?: string }

/** A check makes one line of the report, unless it is skipped. It leaves no change behind. */
export type Check = { name: string; run(): Finding | Promise<Finding> }

/** Checks that share something, such as a connection, which is closed afterwards. */
export type CheckGroup = { checks: readonly Check[]; close?(): Promise<void> }

export const ok = (says: string): Finding => ({ level: 'ok', says })
export const warning = (says: string): Finding => ({ level: 'warning', says })
export const failure = (says: string): Finding => ({ level: 'error', says })
export const skipped = (because: string): Finding => ({ level: 'warning', says: because, skippedBecause: because })

/** The function that makes the finding: a warning in development, an error in production. */
export const errorInProduction = (production: boolean) => (production ? failure : warning)

/** Joins findings to one, with the worst level and the texts of all that are not ok. If all are ok, it has `okText`. */
export const worstOf = (okText: string, findings: readonly Finding[]): Finding => {
  const worstLevel = (['error', 'warning'] as const).find((level) => findings.some((each) => each.level === level))
  if (!worstLevel) return ok(okText)
  const texts = findings.filter(({ level }) => level !== 'ok').map(({ says }) => says)
  return { level: worstLevel, says: texts.join('; ') }
}

const defaultTimeout = 8 * seconds

/** A check that throws or hangs becomes a finding too, so that the other checks are still printed. */
export const runCheck = async ({ name, run }: Check, timeout = defaultTimeout) => {
  const outcome = Promise.resolve()
    .then(run)
    .catch((error: unknown) => failure(reasonOf(error)))
  const finding = await withTimeout(outcome, timeout, () =>
    failure(`no answer within ${timeout / seconds} seconds (if this machine is busy, try again)`),
  )
  return { name, ...finding }
}

const skewToWarnOf = 2 * seconds
const skewThatBreaks = 60 * seconds

/** Compares a server's clock with ours. `askedAt` and `answeredAt` are by our clock; the server read its own in between. */
export const judgeClock = (server: string, askedAt: number, answeredAt: number, serverTime: number): Finding => {
  const skew = Math.round(serverTime - (askedAt + answeredAt) / 2)
  const skewText = `${(Math.abs(skew) / seconds).toFixed(1)} s ${skew > 0 ? 'ahead of' : 'behind'} this machine's`
  if (Math.abs(skew) > skewThatBreaks) return failure(`${server}'s clock is ${skewText}: run NTP on both`)
  if (Math.abs(skew) > skewToWarnOf) return warning(`${server}'s clock is ${skewText}: run NTP on both`)
  return ok(`${server}'s clock agrees with this machine's`)
}

const judgeConnection = (server: string, hosts: readonly string[], protection: Protection, advice: string): Finding => {
  const connection = `the connection to ${hosts.filter((host) => !isThisMachine(host)).join(', ')}`
  const findings: Record<Protection, Finding> = {
    'on this machine': ok(`${server} is on this machine`),
    'encrypted and verified': ok(`${connection} is encrypted, and the server's certificate is checked`),
    'encrypted, not verified': warning(
      `${connection} is encrypted; the identity of the server is not checked: ${advice}`,
    ),
    'encrypted if the server offers it': warning(
      `${connection} is encrypted only if the server offers it, without a warning if not: ${advice}`,
    ),
    'not encrypted': warning(`${connection} is not encrypted: ${advice}`),
  }
  return findings[protection]
}

/** Password hashes and sessions cross the network if the database is on another machine. */
export const checkDatabaseEncryption = (url: string): Finding => {
  const address = postgresAddress(url)
  const advice = 'put sslmode=verify-full and sslrootcert=/path/of/the/authority.crt into DATABASE_URL'
  const hosts = address.hosts.map(({ host }) => host)
  return judgeConnection('the database', hosts, protectionOfDatabase(address), advice)
}

export const checkRedisEncryption = (address: RedisAddress): Finding =>
  judgeConnection('Redis', redisHosts(address), protectionOfRedis(address), 'write rediss:// in REDIS_URL')

export const checkMailEncryption = (server: SmtpServer): Finding =>
  judgeConnection(
    'the mail server',
    [server.host],
    protectionOfMail(server),
    'use smtps://, or smtp:// without settings, in SMTP_URL',
  )

const megabyte = 1024 * 1024
const inMegabytes = (bytes: number) => `${Math.round(bytes / megabyte).toLocaleString('en')} MB`

const failureBelow = 50 * megabyte
const warningBelow = 1000 * megabyte

export const spaceAt = async (path: string): Promise<{ freeText: string; finding: Finding }> => {
  const bytes = await freeSpaceAt(path)
  if (bytes === undefined) return { freeText: '', finding: ok('') }
  const freeText = `, ${inMegabytes(bytes)} free`
  const says = `only ${inMegabytes(bytes)} are free at ${path}`
  if (bytes < failureBelow) return { freeText, finding: failure(says) }
  return { freeText, finding: bytes < warningBelow ? warning(says) : ok('') }
}

/** The data folder of PostgreSQL, if it is on this machine and the role may know it. */
const localDataFolder = async (database: Database, url: string) => {
  const isHere = postgresAddress(url).hosts.every(({ host }) => isThisMachine(host))
  if (!isHere) return undefined
  const [row] = await database.query<{ folder: string | null }>(
    `select case when pg_has_role('pg_read_all_settings', 'usage') then current_setting('data_directory') end as folder`,
  )
  return row?.folder ?? undefined
}

/** Checks that the database can grow, and how much space is left if that can be seen from here. */
export const checkDatabaseSpace = async (database: Database, url: string, ownFolder?: string): Promise<Finding> => {
  const [size] = await database.query<{ bytes: number }>('select pg_database_size(current_database()) as bytes')
  try {
    await proveSpace(database)
  } catch (error) {
    const reason = reasonOf(error)
    return failure(`${reason}: free space on its disk, until then most sign-ins fail`)
  }
  const sizeText = `the database has ${inMegabytes(size?.bytes ?? 0)} and can grow`
  const folder = ownFolder ?? (await localDataFolder(database, url))
  const { freeText, finding } = folder === undefined ? { freeText: '', finding: ok('') } : await spaceAt(folder)
  return worstOf(
    freeText === '' ? `${sizeText}; how much of its disk is free cannot be seen from here` : `${sizeText}${freeText}`,
    [finding],
  )
}

/** Secret files are not checked in a container: it has no other users, and the platform often chooses the rights of the files. */
export const isContainer = (env: Environment) =>
  existsSync('/.dockerenv') || existsSync('/run/.containerenv') || env.KUBERNETES_SERVICE_HOST !== undefined

const othersReadBit = 0o004
const othersWriteBit = 0o002
const othersEnterBit = 0o001

/** Whether other users may enter all folders above a file. A closed folder protects everything in it. */
const canBeReachedByOthers = async (path: string): Promise<boolean> => {
  const folder = dirname(path)
  if (folder === path) return true
  const { mode } = await stat(folder)
  return (mode & othersEnterBit) !== 0 && canBeReachedByOthers(folder)
}

const judgeFile = async (path: string): Promise<Finding> => {
  const realPath = await realpath(path)
  const { mode } = await stat(realPath)
  const rights = [...(mode & othersReadBit ? ['read'] : []), ...(mode & othersWriteBit ? ['changed'] : [])]
  if (rights.length === 0 || !(await canBeReachedByOthers(realPath))) return ok('')
  return warning(
    `${path} can be ${rights.join(' and ')} by every user of this machine: make the service's user its owner, and \`chmod o= ${path}\``,
  )
}

/** Checks whether other users can read or change the files that hold secrets. */
export const checkSecretFiles = async (paths: readonly string[]): Promise<Finding> =>
  worstOf(`${countText(paths.length, 'file')} closed to other users`, await Promise.all(paths.map(judgeFile)))
