import type { RedisAddress } from './redis-address.js'

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
export const redisReason = (error: Error, { tls }: Pick<RedisAddress, 'tls'>) => {
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
