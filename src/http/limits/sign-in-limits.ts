import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeviceOwner, KnownDevices } from '../../domain/known-devices/known-devices.js'
import { deviceSubject, limiterKey, userSubject } from '../../domain/limiters/limiters.js'
import type { User } from '../../domain/users/users.js'
import type { Cache, Limit } from '../../platform/cache/cache.js'
import { clientNetwork } from '../client.js'
import type { SignInCookies } from '../cookies/sign-in-cookies.js'
import type { CountedRequests, Limiter } from './counted-requests.js'

type Dependencies = {
  counted: Pick<CountedRequests, 'count'>
  ofAccounts: Limit
  ofNetworks: Limit
  /** `own`: a known device is not stopped by others in its network. */
  knownDevicesCount: 'shared' | 'own'
  cache: Pick<Cache, 'forget'>
  knownDevices: Pick<KnownDevices, 'browserIn'>
  signInCookies: Pick<SignInCookies, 'knownIn'>
}

/**
 * Passwords that were right: a program that signs in again and again, instead of keeping its session, would fill the tables and keep
 * the threads busy. They are counted after the proof, so that who does not know the password cannot use them up. Each known device
 * has a count of its own: who knows the password does not stop the owner's browser, not even in a browser that is known too.
 */
export const createSignInLimits = (deps: Dependencies) => {
  const { counted, knownDevices, signInCookies } = deps
  const shape = { code: 'too_many_logins', silent: true, tellsWait: true } as const
  const ofUnknownDevices: Limiter = { ...shape, name: 'sign_ins', limit: deps.ofAccounts }
  const ofKnownDevices: Limiter = { ...ofUnknownDevices, name: 'known_sign_ins' }
  const ofNetworks: Limiter = { ...shape, name: 'network_sign_ins', limit: deps.ofNetworks }

  const browserOf = (account: DeviceOwner, request: FastifyRequest) =>
    knownDevices.browserIn(account, signInCookies.knownIn(request))

  return {
    /** The answer, if this sign-in is one too many. The account comes first: one that is over its limit uses up none of its network's. */
    signIns: async (user: DeviceOwner & Pick<User, 'username'>, request: FastifyRequest, reply: FastifyReply) => {
      const browser = browserOf(user, request)
      const whom = async () => ({ userId: user.id, typedName: user.username })
      const limited = await (browser === undefined
        ? counted.count(ofUnknownDevices, userSubject(user.id), request, reply, whom)
        : counted.count(ofKnownDevices, deviceSubject(user.id, browser), request, reply, whom))
      if (limited || (browser !== undefined && deps.knownDevicesCount === 'own')) return limited
      return counted.count(ofNetworks, clientNetwork(request), request, reply)
    },
    /** The account has a new password: who used the sign-ins up may have known the earlier one. */
    forgetSignIns: async (account: DeviceOwner, request: FastifyRequest) => {
      const browser = browserOf(account, request)
      await deps.cache.forget(limiterKey(ofUnknownDevices.name, userSubject(account.id)))
      if (browser !== undefined)
        await deps.cache.forget(limiterKey(ofKnownDevices.name, deviceSubject(account.id, browser)))
    },
  }
}
