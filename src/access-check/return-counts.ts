import { fingerprint } from '../lib/random.js'

const nameOf = (address: string) => fingerprint(address).toString('base64url').slice(0, 16)

/** How often a browser was led to the address in the last seconds, and to all, and is now. `kept` is the cookie that counts. */
export const countReturn = (kept: string | undefined, address: string) => {
  const [name, before = '0', beforeAll = '0'] = kept?.split('.') ?? []
  const same = name === nameOf(address) ? Math.min(99, Number(before) + 1) : 1
  const all = Math.min(99, Number(beforeAll) + 1)
  return { same, all, kept: `${nameOf(address)}.${same}.${all}` }
}
