import type { ClientConfig } from 'pg'
import { type TlsFault, tlsFaultOf, tlsFaultWords } from '../tls-faults.js'
import { type Connection, type OnClosed, openConnection } from './connection.js'
import { withoutValues } from './failures.js'
import type { PostgresAddress, Tls } from './postgres-address.js'

export type Host = PostgresAddress['hosts'][number]
export type ConnectTo = (host: Host, timeoutMs: number, onClosed: OnClosed) => Promise<Connection>

type Timeouts = { statementTimeoutMs: number; lockTimeoutMs: number }
type Dependencies = Timeouts & { address: PostgresAddress; applicationName: string }

// Our timeout is longer than the server's by this much. After a timeout of the server the connection can still be used; ours is for a
// server that hangs.
const slackMs = 300

/** Connects to one host, encrypted as the address says. Our settings are left out if a pooler refuses them. */
export const createConnect = ({ address, applicationName, ...timeouts }: Dependencies): ConnectTo => {
  const settings = settingsFor(address, timeouts)
  let acceptsSettings = true

  return async ({ host, port }, timeoutMs, onClosed) => {
    const deadline = performance.now() + timeoutMs
    let ssl = sslOptions(address.tls, host)
    const attempt = () =>
      openConnection({
        client: {
          host,
          port,
          ssl,
          user: address.user,
          // A function, because the driver treats an empty password as none and looks for one elsewhere.
          password: () => address.password,
          database: address.database,
          application_name: applicationName,
          ...(acceptsSettings && { options: settings }),
          keepAlive: true,
          keepAliveInitialDelayMillis: 30_000,
          connectionTimeoutMillis: Math.max(1, Math.ceil(deadline - performance.now())),
        },
        deadlineMs: timeouts.statementTimeoutMs + slackMs,
        onClosed,
      })
    for (;;) {
      try {
        return await attempt()
      } catch (error) {
        const message = error instanceof Error ? error.message : ''
        if (ssl && encryptionRefusal.test(message) && address.tls.mode === 'prefer') ssl = false
        else if (acceptsSettings && settingsRefusal.test(message) && isEmpty(address.parameters))
          acceptsSettings = false
        else throw explainConnectError(error, message)
      }
    }
  }
}

const isEmpty = (parameters: object) => Object.keys(parameters).length === 0

const encryptionRefusal = /does not support SSL/
// How PgBouncer and other poolers refuse settings that come with the connection.
const settingsRefusal = /unsupported startup parameter|command-line options/

const sentences = [
  { when: encryptionRefusal, sentence: 'The database does not offer encryption, and sslmode requires it' },
  {
    when: /password must be a (non-empty )?string/,
    sentence: 'The database asks for a password, and its address has none',
  },
  { when: /^timeout expired$/, sentence: 'The database did not accept the connection in time' },
  {
    when: settingsRefusal,
    sentence:
      'A connection pooler does not accept settings from the database address: remove them there, and set them on the role (alter role … set …)',
  },
]

const tlsAdvice: Readonly<Record<TlsFault, string>> = {
  'unknown authority': 'name the file of its authority with sslrootcert',
  'other name': 'write the name that is in the certificate as the host, or set sslmode=verify-ca',
  expired: 'renew it',
  'not valid yet': 'check the clocks of both machines',
  'no TLS': 'check the host and the port',
}

const explainConnectError = (error: unknown, message: string) => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  const tlsFault = tlsFaultOf(code, message)
  if (tlsFault) return new Error(`${tlsFaultWords[tlsFault]}; ${tlsAdvice[tlsFault]} (${code})`, { cause: error })
  const knownFailure = sentences.find(({ when }) => when.test(message))
  return knownFailure ? new Error(knownFailure.sentence, { cause: withoutValues(error) }) : withoutValues(error)
}

const settingsFor = ({ parameters }: PostgresAddress, { statementTimeoutMs, lockTimeoutMs }: Timeouts) =>
  Object.entries({
    statement_timeout: statementTimeoutMs,
    lock_timeout: lockTimeoutMs,
    idle_in_transaction_session_timeout: lockTimeoutMs * 2,
    // Times must not depend on the server's own time zone.
    timezone: 'UTC',
    ...parameters,
  })
    .map(([name, value]) => `-c ${`${name}=${value}`.replace(/[\\ ]/g, '\\$&')}`)
    .join(' ')

const sslOptions = ({ mode, ca, cert, key }: Tls, host: string): ClientConfig['ssl'] => {
  if (mode === 'disable' || host.startsWith('/')) return false
  return {
    rejectUnauthorized: mode === 'verify-ca' || mode === 'verify-full',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(ca && { ca }),
    ...(cert && { cert, key }),
  }
}
