import { type InvalidAddress, invalidAddress } from '../invalid-address.js'

type HostAndPort = { host: string; port: number }
type Credentials = { username?: string; password?: string }

/** The servers of the shared counters, read from `REDIS_URL`. */
export type RedisAddress = Credentials & { tls: boolean } & (
    | { kind: 'single'; address: HostAndPort; db: number }
    | { kind: 'cluster'; addresses: HostAndPort[] }
    | { kind: 'sentinel'; addresses: HostAndPort[]; master: string; sentinelPassword?: string }
  )

const shape = /^(rediss?)(\+sentinel|\+cluster)?:\/\/(?:([^@/]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?(.*))?$/

const addressOf = (text: string, standardPort: number): HostAndPort | undefined => {
  const parts = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i.exec(text.trim())
  if (parts?.[1] === undefined) return undefined
  const port = parts[2] === undefined ? standardPort : Number(parts[2])
  return port > 0 && port < 65_536 ? { host: parts[1].replace(/^\[|\]$/g, ''), port } : undefined
}

const credentialsOf = (text: string | undefined): Credentials => {
  if (text === undefined || text === '') return {}
  const [username = '', ...rest] = text.split(':')
  const password = rest.length > 0 ? decodeURIComponent(rest.join(':')) : undefined
  return { ...(username && { username: decodeURIComponent(username) }), ...(password && { password }) }
}

const refused = invalidAddress('must be an address such as redis://localhost:6379')

/**
 * `redis://host:6379/0` is one server, several addresses with commas between them (or `redis+cluster://`, for a provider
 * with one address) are a Cluster, `redis+sentinel://s1:26379,s2:26379/mymaster` asks the sentinels for the master;
 * `rediss` is the same with TLS.
 */
export const readRedisAddress = (url: string): RedisAddress | InvalidAddress => {
  const [, scheme, kind, login, hosts = '', path = '', query] = shape.exec(url) ?? []
  const addresses = hosts.split(',').map((text) => addressOf(text, kind === '+sentinel' ? 26_379 : 6_379))
  const valid = addresses.filter((address) => address !== undefined)
  const [first] = valid
  if (first === undefined || valid.length !== addresses.length) return refused
  try {
    const access = { ...credentialsOf(login), tls: scheme === 'rediss' }
    if (kind === '+sentinel') {
      const sentinelPassword = new URLSearchParams(query).get('sentinel_password')
      const master = decodeURIComponent(path)
      if (master === '') return refused
      return { ...access, kind: 'sentinel', addresses: valid, master, ...(sentinelPassword && { sentinelPassword }) }
    }
    if (kind === '+cluster' || valid.length > 1) {
      return path === '' || path === '0' ? { ...access, kind: 'cluster', addresses: valid } : refused
    }
    return /^\d{0,4}$/.test(path) ? { ...access, kind: 'single', address: first, db: Number(path) } : refused
  } catch {
    // A percent sign that encodes nothing, in the user name, the password or the name of the master.
    return refused
  }
}
