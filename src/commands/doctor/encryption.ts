import { isThisMachine } from '../../lib/networks.js'
import { type RedisAddress, redisHosts } from '../../platform/cache/redis-address.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import type { SmtpServer } from '../../platform/mail/smtp-address.js'
import {
  type Protection,
  protectionOfDatabase,
  protectionOfMail,
  protectionOfRedis,
} from '../../settings/connections.js'
import { type Finding, ok, warning } from './check.js'

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
