import type { FastifyRequest } from 'fastify'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

type Dependencies = {
  knownDevices: Pick<KnownDevices, 'find' | 'browserKey'>
  signInCookies: Pick<SignInCookies, 'knownDevicesIn'>
}

export type KnownBrowsers = ReturnType<typeof createKnownBrowsers>

/** Finds out whether a request comes from a browser in which the account has signed in before. */
export const createKnownBrowsers = ({ knownDevices, signInCookies }: Dependencies) => ({
  /** True if the browser claims that any account has signed in with it. Nothing is checked. */
  claimsAny: (request: FastifyRequest) => signInCookies.knownDevicesIn(request).length > 0,
  /** The key by which failures in this browser count; undefined if the account has not signed in with it. */
  nonceOf: (account: DeviceOwner, request: FastifyRequest) =>
    knownDevices.find(account, signInCookies.knownDevicesIn(request)),
  /** The key by which sign-ins in this browser count, which a new sign-in does not change; undefined as above. */
  browserOf: (account: DeviceOwner, request: FastifyRequest) =>
    knownDevices.browserKey(account, signInCookies.knownDevicesIn(request)),
})
