import { seconds } from '../../lib/durations.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import { type ConnectTo, createConnect, type Host, hostName, reasonOf } from '../../platform/database/primary.js'
import { type CheckGroup, type Finding, ok, warning, worstOf } from './check.js'

const askHost = async (host: Host, connect: ConnectTo): Promise<Finding> => {
  try {
    const connection = await connect(host, 4 * seconds)
    try {
      const [row] = await connection.query<{ standby: boolean; writable: boolean }>(
        `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'off' as writable`,
      )
      if (row?.standby) return ok(`${hostName(host)} is a standby`)
      return row?.writable
        ? ok(`${hostName(host)} is a primary`)
        : warning(`${hostName(host)} is not used: its default_transaction_read_only is on`)
    } finally {
      await connection.end()
    }
  } catch (error) {
    return warning(`${hostName(host)} cannot be used: ${reasonOf(error)}`)
  }
}

/** The service works as long as the primary answers, so a lost standby is noticed only by this check, or when the standby is needed. */
const checkHosts = async (url: string): Promise<Finding> => {
  const address = postgresAddress(url)
  const timeouts = { statementTimeoutMs: 3 * seconds, lockTimeoutMs: 3 * seconds }
  const connect = createConnect({ address, applicationName: 'latchkey doctor', ...timeouts })
  const findings = await Promise.all(address.hosts.map((host) => askHost(host, connect)))
  return worstOf(findings.map(({ says }) => says).join(', '), findings)
}

export const hostChecks = (url: string): CheckGroup['checks'] =>
  postgresAddress(url).hosts.length > 1 ? [{ name: 'database hosts', run: () => checkHosts(url) }] : []
