import { createHmac, randomBytes } from 'node:crypto'
import { knownDeviceLifetime, maxAccounts } from '../http/cookie-table.js'
import { type Clock, later } from '../lib/clock.js'
import { equalInConstantTime, type Key } from '../lib/random.js'
import { RecentMap } from '../lib/recent.js'

const nonceBytes = 16
/** The bytes of a nonce that identify the browser. They follow the time, and stay the same when the browser gets a new nonce. */
const browserBytes = { from: 4, to: 10 } as const
const macBytes = 16

/** The account that known devices are bound to. After an undo, none of its devices is known any more. */
export type DeviceOwner = { id: string; undoCount: number }

const browserOf = (nonce: string) => nonce.slice(2 * browserBytes.from, 2 * browserBytes.to)

export type KnownDevices = ReturnType<typeof createKnownDevices>

/**
 * Browsers that have been signed in to an account before. Nothing is stored: the browser has a nonce for each account, and a MAC over
 * account and nonce. This proves nothing about the user. Failures in such a browser are counted by its nonce, so that guesses of others do
 * not stop its user.
 */
export const createKnownDevices = ({ keys, clock }: { keys: readonly Key[]; clock: Clock }) => {
  /**
   * The count of undos is part of the MAC. So when an account is taken back, the browsers from before are not known any more: a thief's may
   * be among them.
   */
  const macSubject = ({ id, undoCount }: DeviceOwner) => `${id} ${undoCount} `

  const macWith = (key: Key, account: DeviceOwner, nonce: Uint8Array) =>
    createHmac('sha256', key).update(macSubject(account)).update(nonce).digest().subarray(0, macBytes)

  /** A new nonce. It begins with the time, so that a copy of the cookie expires. */
  const newNonce = (formerNonce: string | undefined) => {
    const nonce = randomBytes(nonceBytes)
    nonce.writeUInt32BE(Math.floor(clock.now().getTime() / 1000))
    if (formerNonce !== undefined) nonce.write(browserOf(formerNonce), browserBytes.from, 'hex')
    return nonce
  }

  const hasExpired = (nonce: string) =>
    later(new Date(Number.parseInt(nonce.slice(0, 8), 16) * 1000), knownDeviceLifetime) <= clock.now()

  /** The nonces of values whose MAC was checked lately: a sign-in asks for the same one several times. */
  const checkedNonces = new RecentMap<string, string>(1_000)

  const checkNonce = (account: DeviceOwner, value: string) => {
    const bytes = Buffer.from(value, 'base64url')
    if (bytes.length !== nonceBytes + macBytes) return undefined
    const nonce = bytes.subarray(0, nonceBytes)
    const mac = bytes.subarray(nonceBytes)
    if (!keys.some((key) => equalInConstantTime(macWith(key, account, nonce), mac))) return undefined
    checkedNonces.set(macSubject(account) + value, nonce.toString('hex'))
    return nonce.toString('hex')
  }

  /** The nonce in a value. Undefined if the value is not one of this account, or has expired. */
  const nonceIn = (account: DeviceOwner, value: string) => {
    const nonce = checkedNonces.get(macSubject(account) + value) ?? checkNonce(account, value)
    return nonce !== undefined && !hasExpired(nonce) ? nonce : undefined
  }

  const nonceAmong = (account: DeviceOwner, values: readonly string[]) =>
    values.map((value) => nonceIn(account, value)).find((nonce) => nonce !== undefined)

  const newValue = (account: DeviceOwner, values: readonly string[]) => {
    const [key] = keys
    if (!key) throw new Error('There is no key for known devices')
    const nonce = newNonce(nonceAmong(account, values))
    return Buffer.concat([nonce, macWith(key, account, nonce)]).toString('base64url')
  }

  return {
    /** The key by which failures of this browser are counted. Undefined if none of its values belongs to the account. */
    find: nonceAmong,
    /** The key by which sign-ins and sessions of this browser are counted. It stays the same from one sign-in to the next. */
    browserKey: (account: DeviceOwner, values: readonly string[]) => {
      const nonce = nonceAmong(account, values)
      return nonce === undefined ? undefined : browserOf(nonce)
    },
    /** The values among these that belong to this account. */
    valuesOf: (account: DeviceOwner, values: readonly string[]) =>
      values.filter((value) => nonceIn(account, value) !== undefined),
    /** The new values of the browser. The account gets a new one, so that a stolen copy of the former one is counted separately. */
    remember: (account: DeviceOwner, values: readonly string[]) => [
      newValue(account, values),
      ...values.filter((value) => nonceIn(account, value) === undefined).slice(0, maxAccounts - 1),
    ],
  }
}
