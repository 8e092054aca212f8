import {
  type InvalidAddress,
  invalidAddress,
  passwordAdvice,
  wrongHost,
  wrongPercent,
  wrongPort,
} from '../invalid-address.js'

type HostAndPort = { host: string; port: number }

type Credentials = { username?: string; password?: string }

/** The servers of the shared counters, read from `REDIS_URL`. With `saysPlain` (`?tls=off`) the missing TLS is intended. */
export type RedisAddress = Credentials & { tls: boolean; saysPlain?: true } & (
    | { kind: 'single'; address: HostAndPort; db: number }
    | { kind: 'cluster'; addresses: HostAndPort[] }
    | { kind: 'sentinel'; addresses: HostAndPort[]; master: string; sentinelPassword?: string }
  )

export const redisHosts = (address: RedisAddress) =>
  (address.kind === 'single' ? [address.address] : address.addresses).map(({ host }) => host)

/** Thrown and caught in this file only. */
class Fault extends Error {}

const urlPattern = /^(rediss?)(\+sentinel|\+cluster)?:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?(.*))?$/

const addressOf = (text: string, standardPort: number): HostAndPort => {
  const [, host, portText] = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([^:]*))?$/i.exec(text.trim()) ?? []
  if (host === undefined) throw new Fault(wrongHost)
  const port = portText === undefined ? standardPort : /^\d{1,5}$/.test(portText) ? Number(portText) : 0
  if (port < 1 || port > 65_535) throw new Fault(wrongPort)
  return { host: host.replace(/^\[|\]$/g, ''), port }
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Fault(wrongPercent)
  }
}

const credentialsOf = (text: string | undefined): Credentials => {
  if (text === undefined || text === '') return {}
  const [username = '', ...rest] = text.split(':')
  const password = rest.length > 0 ? decode(rest.join(':')) : undefined
  return { ...(username && { username: decode(username) }), ...(password && { password }) }
}

/**
 * `redis://host:6379/0` is one server. Several addresses with commas between them are a Cluster, and so is one address with
 * `redis+cluster://`. `redis+sentinel://s1:26379,s2:26379/mymaster` asks the sentinels for the master. `rediss` means TLS.
 */
export const readRedisAddress = (url: string): RedisAddress | InvalidAddress => {
  try {
    return parse(url)
  } catch (error) {
    if (error instanceof Fault) return invalidAddress(error.message)
    throw error
  }
}

const optionNames = ['tls', 'sentinel_password']

const optionsOf = (query: string | undefined, tls: boolean) => {
  const parameters = new URLSearchParams(query)
  for (const name of parameters.keys())
    if (!optionNames.includes(name)) throw new Fault(`may have only these settings: ${optionNames.join(', ')}`)
  const tlsOption = parameters.get('tls')
  const sentinelPassword = parameters.get('sentinel_password')
  if (tlsOption !== null && tlsOption !== 'off') throw new Fault('tls can only be off; write rediss:// for TLS')
  if (tlsOption === 'off' && tls) throw new Fault('asks for TLS with rediss:// and switches it off with tls=off')
  return { saysPlain: tlsOption === 'off', sentinelPassword }
}

const parse = (url: string): RedisAddress => {
  const parts = urlPattern.exec(url)
  if (!parts) throw new Fault(whyMalformed(url))
  const [, scheme, kind, login, hosts = '', path = '', query] = parts
  const addresses = hosts.split(',').map((text) => addressOf(text, kind === '+sentinel' ? 26_379 : 6_379))
  const tls = scheme === 'rediss'
  const { saysPlain, sentinelPassword } = optionsOf(query, tls)
  const access = { ...credentialsOf(login), tls, ...(saysPlain && { saysPlain }) }
  if (kind === '+sentinel') {
    const master = decode(path)
    if (master === '')
      throw new Fault('must name the master after the sentinels: redis+sentinel://one:26379,two:26379/mymaster')
    return { ...access, kind: 'sentinel', addresses, master, ...(sentinelPassword && { sentinelPassword }) }
  }
  const [address] = addresses
  if (address === undefined || kind === '+cluster' || addresses.length > 1) {
    if (path !== '' && path !== '0')
      throw new Fault('names a database, and a Cluster has none but 0: remove the number')
    return { ...access, kind: 'cluster', addresses }
  }
  if (!/^\d{0,4}$/.test(path)) throw new Fault('names a database that is not a number: write /0 at the end, or nothing')
  return { ...access, kind: 'single', address, db: Number(path) }
}

const whyMalformed = (url: string) =>
  /^rediss?(\+\w+)?:\/\/[^/]/.test(url)
    ? `cannot be read: ${passwordAdvice}`
    : 'must be an address such as redis://localhost:6379, or rediss:// for TLS'

const noSuchDatabase = /DB index is out of range/i

const sentences = [
  {
    when: noSuchDatabase,
    sentence: 'the server does not have the database that REDIS_URL names: write a lower number',
  },
  { when: /^WRONGPASS|invalid password/i, sentence: 'the server refuses the user or the password in REDIS_URL' },
  { when: /^NOAUTH/, sentence: 'the server asks for a password, and REDIS_URL has none' },
  {
    when: /wrong version number|EPROTO|SSL routines/,
    sentence: 'the server does not accept TLS: write redis:// instead of rediss://',
  },
]

/** The error of a Cluster says only that all nodes failed. The reason of the last node stands in `lastNodeError`. */
const innermost = (error: Error): Error =>
  'lastNodeError' in error && error.lastNodeError instanceof Error ? error.lastNodeError : error

/** The reason why Redis cannot be used, in words that say what to change. It never quotes the URL, which may have a password. */
export const redisReason = (error: Error, { tls }: RedisAddress) => {
  const message = innermost(error).message || 'connection refused'
  const knownFailure = sentences.find(({ when }) => when.test(message))
  if (knownFailure) return knownFailure.sentence
  if (/certificate|altnames/i.test(message)) return `the certificate of the server is not trusted (${message})`
  // A server without TLS takes the handshake for a command and waits for its end, which never comes.
  if (tls && /TIMEDOUT/.test(message))
    return `${message}: is this a port for TLS? If not, write redis:// instead of rediss://`
  // A server with TLS hangs up at a command that is not encrypted.
  if (!tls && /ECONNRESET|Connection is closed|EPIPE/.test(message))
    return `the server closed the connection (${message}): if the port is for TLS, write rediss://`
  return message
}

export const isMissingDatabase = (error: unknown) => error instanceof Error && noSuchDatabase.test(error.message)
