import { isLoopback } from '../lib/loopback.js'
import { postgresAddress } from '../platform/database/postgres-address.js'
import { type Finding, ok, warning } from './doctor-check.js'

const isHere = (host: string) => host.startsWith('/') || isLoopback(host)

const advice = 'put sslmode=verify-full and sslrootcert=/path/of/the/authority.crt into DATABASE_URL'

/** Password hashes and sessions cross the network if the database is on another machine. */
export const checkEncryption = (url: string): Finding => {
  const { hosts, tls } = postgresAddress(url)
  const distant = hosts.filter(({ host }) => !isHere(host)).map(({ host }) => host)
  if (distant.length === 0) return ok('the database is on this machine')
  const to = `the connection to ${distant.join(', ')}`
  const findings: Record<typeof tls.mode, Finding> = {
    disable: warning(`${to} is not encrypted (sslmode=disable): ${advice}`),
    prefer: warning(`${to} is encrypted only if the server offers it, without a warning if not: ${advice}`),
    require: ok(`${to} is encrypted; the identity of the server is not checked (sslmode=require)`),
    'verify-ca': ok(`${to} is encrypted and the server's certificate is checked`),
    'verify-full': ok(`${to} is encrypted and the server's certificate and name are checked`),
  }
  return findings[tls.mode]
}
