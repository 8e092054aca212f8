import { fingerprint } from '../lib/random.js'

const most = 99
const nameOf = (address: string) => fingerprint(address).toString('base64url').slice(0, 16)

/** How often a browser was led to the address in the last seconds, and is now. `kept` is the cookie that counts it. */
export const countReturn = (kept: string | undefined, address: string) => {
  const [name, count = '0'] = kept?.split('.') ?? []
  const returns = name === nameOf(address) ? Math.min(most, Number(count) + 1) : 1
  return { returns, kept: `${nameOf(address)}.${returns}` }
}
