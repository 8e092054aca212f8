import { isThisMachine } from '../lib/networks.js'
import { type RedisAddress, readRedisAddress, redisHosts } from '../platform/cache/redis-address.js'
import { type PostgresAddress, readPostgresAddress } from '../platform/database/postgres-address.js'
import { validAddress } from '../platform/invalid-address.js'

import type { SmtpServer } from '../platform/mail/smtp-address.js'

/** How a connection to a server of ours is protected, in the words of the log and of `doctor`. */
export type Protection =
  | 'on this machine'
  | 'encrypted and verified'
  | 'encrypted, not verified'
  | 'encrypted if the server offers it'
  | 'not encrypted'

const areAllOnThisMachine = (hosts: readonly string[]) => hosts.every(isThisMachine)

const bySslMode: Readonly<Record<PostgresAddress['tls']['mode'], Protection>> = {
  disable: 'not encrypted',
  prefer: 'encrypted if the server offers it',
  require: 'encrypted, not verified',
  'verify-ca': 'encrypted and verified',
  'verify-full': 'encrypted and verified',
}

export const protectionOfDatabase = ({ hosts, tls }: PostgresAddress): Protection =>
  areAllOnThisMachine(hosts.map(({ host }) => host)) ? 'on this machine' : bySslMode[tls.mode]

export const protectionOfRedis = (address: RedisAddress): Protection => {
  if (address.tls) return 'encrypted and verified'
  return areAllOnThisMachine(redisHosts(address)) ? 'on this machine' : 'not encrypted'
}

export const protectionOfMail = ({ host, secure, requireTLS, ignoreTLS, tls }: SmtpServer): Protection => {
  if (isThisMachine(host)) return 'on this machine'
  if (ignoreTLS) return 'not encrypted'
  if (!secure && !requireTLS) return 'encrypted if the server offers it'
  return tls.rejectUnauthorized ? 'encrypted and verified' : 'encrypted, not verified'
}

type Addresses = {
  databaseUrl?: string | undefined
  databaseOwnerUrl?: string | undefined
  redisUrl?: string | undefined
  smtpUrl?: SmtpServer | undefined
}

/** How each connection is protected, by the name of its server. For the log. */
export const protections = ({ databaseUrl, redisUrl, smtpUrl }: Addresses) => ({
  ...(databaseUrl !== undefined && {
    database: protectionOfDatabase(validAddress('DATABASE_URL', readPostgresAddress(databaseUrl))),
  }),
  ...(redisUrl !== undefined && { redis: protectionOfRedis(validAddress('REDIS_URL', readRedisAddress(redisUrl))) }),
  ...(smtpUrl && { mail: protectionOfMail(smtpUrl) }),
})

/** What is unclear about the connection to a database, and what to write instead. */
const vagueness = (url: string | undefined) => {
  if (url === undefined) return undefined
  const address = validAddress('The address', readPostgresAddress(url))
  const protection = protectionOfDatabase(address)
  if (protection === bySslMode.prefer)
    return 'names another machine: add sslmode=verify-full, or sslmode=disable if the connection is not encrypted'
  if (protection === bySslMode.require && !address.tls.saysUnverified)
    return 'encrypts without checking whom it talks to: write sslmode=verify-full (sslrootcert names an authority of your own), or sslmode=no-verify if that is what you want'
  return undefined
}

const isSilentlyPlain = (url: string | undefined) => {
  if (url === undefined) return false
  const address = validAddress('REDIS_URL', readRedisAddress(url))
  return protectionOfRedis(address) === 'not encrypted' && !address.saysPlain
}

/**
 * Production refuses an address that does not say whether the connection is encrypted and verified: password hashes, sessions and counters must
 * not cross a network in the clear because a parameter was forgotten. Mail needs no such rule: an `smtp://` address of another machine
 * requires TLS unless it says otherwise.
 */
export const unprotectedFaults = ({ databaseUrl, databaseOwnerUrl, redisUrl }: Addresses) => {
  const vagueFaults = Object.entries({ DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: databaseOwnerUrl }).flatMap(
    ([name, url]) => {
      const fault = vagueness(url)
      return fault === undefined ? [] : [`${name}: ${fault}`]
    },
  )
  const plainFault =
    'REDIS_URL: names another machine: write rediss://, or add ?tls=off if the connection is not encrypted'
  return isSilentlyPlain(redisUrl) ? [...vagueFaults, plainFault] : vagueFaults
}
