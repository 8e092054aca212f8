import type { FastifyReply, FastifyRequest } from 'fastify'
import { deviceSubject, type Limiter, limiterKey, userSubject } from '../http/limiters.js'
import type { CountedRequests } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'

import type { Cache, Limit } from '../platform/cache/cache.js'
import type { DeviceOwner } from '../sessions/known-devices.js'
import type { User } from '../users/users.js'
import type { KnownBrowsers } from './known-browsers.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'countAll'>
  accountLimit: Limit
  networkLimit: Limit
  /** `own`: a known device has its own counter, so that others in its network cannot stop it. */
  knownDeviceCounter: 'shared' | 'own'
  cache: Pick<Cache, 'forget'>
  knownBrowsers: Pick<KnownBrowsers, 'browserOf'>
}

export type SignInLimits = ReturnType<typeof createSignInLimits>

/**
 * Limits sign-ins with the right password: a program that signs in again and again, instead of keeping its session, would fill the
 * tables and keep the threads busy. They are counted after the proof, so that only a client with the password can use them up. Each
 * known device has its own counter, so a thief with the password cannot lock out the owner's browser, not even from another known device.
 */
export const createSignInLimits = (deps: Dependencies) => {
  const { countedRequests, knownBrowsers, cache } = deps
  const sharedOptions = { code: 'too_many_logins', silent: true, tellsWait: true } as const
  const unknownDevicesLimiter: Limiter = { ...sharedOptions, name: 'sign_ins', limit: deps.accountLimit }
  const knownDevicesLimiter: Limiter = { ...unknownDevicesLimiter, name: 'known_sign_ins' }
  const networkLimiter: Limiter = { ...sharedOptions, name: 'network_sign_ins', limit: deps.networkLimit }

  return {
    /**
     * Counts a sign-in, and answers if it is one too many. The account is counted first: if it is over its limit, the network loses no
     * attempt.
     */
    countSignIn: async (user: DeviceOwner & Pick<User, 'username'>, request: FastifyRequest, reply: FastifyReply) => {
      const browser = knownBrowsers.browserOf(user, request)
      const findAttemptedUser = async () => ({ userId: user.id, typedName: user.username })
      const byAccount =
        browser === undefined
          ? { limiter: unknownDevicesLimiter, subject: userSubject(user.id), findAttemptedUser }
          : { limiter: knownDevicesLimiter, subject: deviceSubject(user.id, browser), findAttemptedUser }
      const countsByNetwork = browser === undefined || deps.knownDeviceCounter !== 'own'
      const byNetwork = { limiter: networkLimiter, subject: clientNetwork(request) }
      return countedRequests.countAll(countsByNetwork ? [byAccount, byNetwork] : [byAccount], request, reply)
    },
    /** Resets the count after a new password, because a thief who knew the earlier one may have used the sign-ins up. */
    resetSignInCount: async (account: DeviceOwner, request: FastifyRequest) => {
      const browser = knownBrowsers.browserOf(account, request)
      await cache.forget(limiterKey(unknownDevicesLimiter.name, userSubject(account.id)))
      if (browser !== undefined)
        await cache.forget(limiterKey(knownDevicesLimiter.name, deviceSubject(account.id, browser)))
    },
  }
}
