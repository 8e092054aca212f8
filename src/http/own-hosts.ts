import { isIP } from 'node:net'
import { isLoopback } from '../lib/networks.js'

/** The host without its port, in lower case. An IPv6 address keeps its brackets. */
const nameIn = (host: string) => host.replace(/:\d*$/, '').toLowerCase()

const isAddress = (name: string) => isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0

/**
 * Says whether a `Host` header names this development service. Another site can point its own name to this machine (DNS rebinding), and
 * then the browser lets its page read every answer. This works only with a name: an IP address cannot be redirected, and browsers
 * resolve names below `localhost` themselves.
 */
export const createOwnHosts = ({ publicUrl, otherNames }: { publicUrl: string; otherNames: readonly string[] }) => {
  const names = new Set([new URL(publicUrl).hostname, ...otherNames])
  return (host: string) => {
    const name = nameIn(host)
    return isLoopback(name) || name.endsWith('.localhost') || isAddress(name) || names.has(name)
  }
}
