import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeviceOwner } from '../../domain/known-devices/known-devices.js'
import { deviceSubject, limiterKey, userSubject } from '../../domain/limiters/limiters.js'
import type { User } from '../../domain/users/users.js'
import type { Cache, Limit } from '../../platform/cache/cache.js'
import { clientNetwork } from '../client.js'
import type { CountedRequests } from './counted-requests.js'
import type { KnownBrowsers } from './known-browsers.js'
import type { Limiter } from './limiter.js'

type Dependencies = {
  countedRequests: Pick<CountedRequests, 'count'>
  accountLimit: Limit
  networkLimit: Limit
  /** `own`: a known device is not stopped by others in its network. */
  knownDevicesCount: 'shared' | 'own'
  cache: Pick<Cache, 'forget'>
  knownBrowsers: Pick<KnownBrowsers, 'browserOf'>
}

export type SignInLimits = ReturnType<typeof createSignInLimits>

/**
 * Passwords that were right: a program that signs in again and again, instead of keeping its session, would fill the tables and keep
 * the threads busy. They are counted after the proof, so that who does not know the password cannot use them up. Each known device
 * has a count of its own: who knows the password does not stop the owner's browser, not even in a browser that is known too.
 */
export const createSignInLimits = (deps: Dependencies) => {
  const { countedRequests, knownBrowsers, cache } = deps
  const sharedOptions = { code: 'too_many_logins', silent: true, tellsWait: true } as const
  const unknownDevicesLimiter: Limiter = { ...sharedOptions, name: 'sign_ins', limit: deps.accountLimit }
  const knownDevicesLimiter: Limiter = { ...unknownDevicesLimiter, name: 'known_sign_ins' }
  const networkLimiter: Limiter = { ...sharedOptions, name: 'network_sign_ins', limit: deps.networkLimit }

  return {
    /**
     * Counts a sign-in, and answers if it is one too many. The account comes first: one that is over its limit uses up none of its
     * network's.
     */
    countSignIn: async (user: DeviceOwner & Pick<User, 'username'>, request: FastifyRequest, reply: FastifyReply) => {
      const browser = knownBrowsers.browserOf(user, request)
      const findSubject = async () => ({ userId: user.id, typedName: user.username })
      const limited = await (browser === undefined
        ? countedRequests.count(unknownDevicesLimiter, userSubject(user.id), request, reply, findSubject)
        : countedRequests.count(knownDevicesLimiter, deviceSubject(user.id, browser), request, reply, findSubject))
      if (limited || (browser !== undefined && deps.knownDevicesCount === 'own')) return limited
      return countedRequests.count(networkLimiter, clientNetwork(request), request, reply)
    },
    /** The account has a new password: who used the sign-ins up may have known the earlier one. */
    forgetSignIns: async (account: DeviceOwner, request: FastifyRequest) => {
      const browser = knownBrowsers.browserOf(account, request)
      await cache.forget(limiterKey(unknownDevicesLimiter.name, userSubject(account.id)))
      if (browser !== undefined)
        await cache.forget(limiterKey(knownDevicesLimiter.name, deviceSubject(account.id, browser)))
    },
  }
}
