import { readFileSync } from 'node:fs'
import { accountName } from '../account-name.js'

export type Tls = {
  mode: 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'
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
  /** The rest of the query string: settings of the connection, like libpq's `options`. */
  parameters: Record<string, string>
}

/** What is wrong with the address, without a word of the address itself: it has a password. */
export class FaultyPostgresAddress extends Error {
  override name = 'FaultyPostgresAddress'
  readonly fault: string
  constructor(fault: string) {
    super(`The database address ${fault}`)
    this.fault = fault
  }
}

/** The address is fine, and a file that it names is not. The name of a file is no secret. */
export class UnreadableTlsFile extends Error {
  override name = 'UnreadableTlsFile'
  constructor(parameter: string, path: string | undefined, options: { cause: unknown }) {
    const { cause } = options
    const reason = cause instanceof Error && 'code' in cause ? ` (${String(cause.code)})` : ''
    super(`${parameter} names a file that cannot be read: ${path}${reason}`, options)
  }
}

const modes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full'] as const
const isMode = (text: string): text is Tls['mode'] => (modes as readonly string[]).includes(text)

// Node's URL parser does not accept several hosts: `postgres://u:p@a:5432,b:5433/name?sslmode=…`
const shape = /^postgres(?:ql)?:\/\/(?:([^:@/?]*)(?::([^@/?]*))?@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

/** Reads a PostgreSQL address like libpq, as far as a service needs it. Never quotes the address: it has a password. */
export const parsePostgresAddress = (url: string): PostgresAddress => {
  const parts = shape.exec(url)
  if (!parts) throw new FaultyPostgresAddress('must be of the form postgres://user:password@host:port/database')
  const [, user = '', password = '', hosts = '', database = '', query = ''] = parts
  const settings = new URLSearchParams(query)
  const take = (name: string) => {
    const value = settings.get(name) ?? undefined
    settings.delete(name)
    return value
  }
  const tls = readTls(take)
  const named = decode(hosts) || take('host') || 'localhost'
  const port = Number(take('port') ?? 5432)
  const role = decode(user) || take('user') || ownAccount()
  // The program itself chooses the host and always wants the primary.
  for (const ours of ['host', 'port', 'user', 'target_session_attrs']) take(ours)
  return {
    hosts: named.split(',').map((host) => readHost(host, port)),
    user: role,
    password: decode(password) || (take('password') ?? ''),
    database: decode(database) || role,
    tls,
    parameters: Object.fromEntries(settings),
  }
}

/** Like libpq. In a container the uid may have no name. */
const ownAccount = () => {
  const name = accountName()
  if (name === undefined) throw new FaultyPostgresAddress('names no user')
  return name
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new FaultyPostgresAddress(
      'has a % that is not followed by two hexadecimal digits: in a password, % is written %25',
    )
  }
}

const inPasswords = 'in a password, @ is written %40, : %3A, / %2F and ? %3F'

const readHost = (text: string, defaultPort: number) => {
  if (text.startsWith('/')) return { host: text, port: defaultPort }
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:@]*))(?::([^:@]+))?$/.exec(text) ?? []
  if ((bracketed ?? plain) === undefined)
    throw new FaultyPostgresAddress(`names a host that cannot be read: ${inPasswords}`)
  const number = /^\d{1,5}$/.test(port ?? '') ? Number(port) : port === undefined ? defaultPort : Number.NaN
  if (!(number >= 1 && number <= 65_535))
    throw new FaultyPostgresAddress(`names a port that is not a number from 1 to 65535: ${inPasswords}`)
  return { host: bracketed || plain || 'localhost', port: number }
}

const readTls = (take: (name: string) => string | undefined): Tls => {
  const mode = take('sslmode') ?? 'prefer'
  if (!isMode(mode)) throw new FaultyPostgresAddress(`has an sslmode that is none of ${modes.join(', ')}`)
  const [root, cert, key] = [take('sslrootcert'), take('sslcert'), take('sslkey')]
  return {
    mode,
    ca: root === 'system' ? undefined : readTlsFile('sslrootcert', root),
    cert: readTlsFile('sslcert', cert),
    key: readTlsFile('sslkey', key),
  }
}

const readTlsFile = (name: string, path: string | undefined) => {
  try {
    return path ? readFileSync(path, 'utf8') : undefined
  } catch (cause) {
    throw new UnreadableTlsFile(name, path, { cause })
  }
}
