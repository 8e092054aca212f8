import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import {
  type InvalidAddress,
  invalidAddress,
  validAddress,
  wrongHost,
  wrongPercent,
  wrongPort,
} from '../invalid-address.js'

/** The name of the account that this process runs as. It is undefined for a uid without an account, as in many containers. */
export const accountName = (readAccount: () => { username: string } = userInfo) => {
  try {
    return readAccount().username
  } catch {
    return undefined
  }
}

export type Tls = {
  mode: 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'
  /** The address says in words that the identity of the server is not checked. */
  saysUnverified?: boolean
  ca?: string
  cert?: string
  key?: string
}

export type PostgresAddress = {
  hosts: { host: string; port: number }[]
  user: string
  password: string
  database: string
  tls: Tls
  /** `require_auth=scram-sha-256`: only a server that proves that it knows the password is believed. */
  requiresScram: boolean
  /** The rest of the query string. These are settings of the connection, like libpq's `options`. */
  parameters: Record<string, string>
}

/** Thrown and caught in this file only. */
class Fault extends Error {}

const modes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
/** What other drivers call `require`, which does not say that anyone could answer in the name of the server. */
const unverified = 'no-verify'
const isMode = (text: string): text is Tls['mode'] => (modes as readonly string[]).includes(text)

// Node's URL parser does not accept several hosts: `postgres://u:p@a:5432,b:5433/name?sslmode=…`
const urlPattern = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

/** Reads a PostgreSQL address like libpq, as far as a service needs it. */
export const readPostgresAddress = (url: string): PostgresAddress | InvalidAddress => {
  try {
    return parse(url)
  } catch (error) {
    if (error instanceof Fault) return invalidAddress(error.message)
    throw error
  }
}

/** Reads an address that must be valid, and throws otherwise. */
export const postgresAddress = (url: string) => validAddress('The database address', readPostgresAddress(url))

const parse = (url: string): PostgresAddress => {
  const parts = urlPattern.exec(url)
  if (!parts) throw new Fault('must be of the form postgres://user:password@host:port/database')
  const [, user = '', password = '', hosts = '', database = '', query = ''] = parts
  const settings = new URLSearchParams(query)
  const take = (name: string) => {
    const value = settings.get(name) ?? undefined
    settings.delete(name)
    return value
  }
  const tls = readTls(take)
  const hostTexts = (hosts || take('host') || 'localhost').split(',').map(decode)
  const port = Number(take('port') ?? 5432)
  const role = decode(user) || take('user') || ownAccount()
  const secret = decode(password) || (take('password') ?? '')
  // What is left of these is not sent to the server: the URL itself has said it, or the program decides it (it always wants the primary).
  for (const name of ['host', 'port', 'user', 'password', 'target_session_attrs']) take(name)
  return {
    hosts: hostTexts.map((host) => readHost(host, port)),
    user: role,
    password: secret,
    database: decode(database) || role,
    tls,
    requiresScram: readRequiredAuth(take('require_auth')),
    parameters: Object.fromEntries(settings),
  }
}

/** The default user is the account of this process, as with libpq. In a container the uid may have no name. */
const ownAccount = () => {
  const name = accountName()
  if (name === undefined) throw new Fault('names no user')
  return name
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Fault(wrongPercent)
  }
}

const readHost = (text: string, defaultPort: number) => {
  if (text.startsWith('/')) return { host: text, port: defaultPort }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:@]*))(?::([^:@]+))?$/.exec(text) ?? []
  if ((bracketed ?? plain) === undefined) throw new Fault(wrongHost)
  const number = /^\d{1,5}$/.test(port ?? '') ? Number(port) : port === undefined ? defaultPort : Number.NaN
  if (!(number >= 1 && number <= 65_535)) throw new Fault(wrongPort)
  return { host: bracketed || plain || 'localhost', port: number }
}

const readRequiredAuth = (methods: string | undefined) => {
  if (methods !== undefined && methods !== 'scram-sha-256')
    throw new Fault('has a require_auth that is not scram-sha-256')
  return methods !== undefined
}

const readTls = (take: (name: string) => string | undefined): Tls => {
  const word = take('sslmode') ?? 'prefer'
  const mode = word === unverified ? 'require' : word
  if (!isMode(mode)) throw new Fault(`has an sslmode that is none of ${[...modes, unverified].join(', ')}`)
  const root = take('sslrootcert')
  const cert = take('sslcert')
  const key = take('sslkey')
  return {
    // If an authority is named, `require` checks the certificate, as with libpq.
    mode: mode === 'require' && root !== undefined ? 'verify-ca' : mode,
    ...(word === unverified && { saysUnverified: true }),
    ca: root === 'system' ? undefined : readAuthority(root),
    cert: readTlsFile('sslcert', cert),
    key: readTlsFile('sslkey', key),
  }
}

/** A file without a certificate is refused. Node would take such a file, trust no server, and say so only when it connects. */
const readAuthority = (path: string | undefined) => {
  const text = readTlsFile('sslrootcert', path)
  if (text !== undefined && !/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/.test(text))
    throw new Fault(`sslrootcert names a file without a certificate in PEM: ${path}`)
  return text
}

const readTlsFile = (name: string, path: string | undefined) => {
  try {
    return path ? readFileSync(path, 'utf8') : undefined
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    throw new Fault(`${name} names a file that cannot be read: ${path}${reason}`)
  }
}
