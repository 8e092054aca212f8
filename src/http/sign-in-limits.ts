import type { FastifyReply, FastifyRequest } from 'fastify'
import type { KnownDevices } from '../domain/known-devices/known-devices.js'
import { userSubject } from '../domain/limiters/limiters.js'
import type { User } from '../domain/users/users.js'
import type { Limit } from '../platform/cache/cache.js'
import { clientNetwork } from './client.js'
import type { CountedRequests, Limiter } from './counted-requests.js'
import type { SignInCookies } from './sign-in-cookies.js'

type Dependencies = {
  counted: Pick<CountedRequests, 'count'>
  ofAccounts: Limit
  ofNetworks: Limit
  knownDevices: Pick<KnownDevices, 'find'>
  signInCookies: Pick<SignInCookies, 'knownIn'>
}

/**
 * Passwords that were right: a program that signs in again and again, instead of keeping its session, would fill the tables and keep
 * the threads busy. They are counted after the proof, so that who does not know the password cannot use them up. Known devices
 * have a count of their own: who knows the password and not the second factor does not stop the owner's browser.
 */
export const createSignInLimits = (deps: Dependencies) => {
  const { counted, knownDevices, signInCookies } = deps
  const shape = { code: 'too_many_logins', silent: true, tellsWait: true } as const
  const ofUnknownDevices: Limiter = { ...shape, name: 'sign_ins', limit: deps.ofAccounts }
  const ofKnownDevices: Limiter = { ...ofUnknownDevices, name: 'known_sign_ins' }
  const ofNetworks: Limiter = { ...shape, name: 'network_sign_ins', limit: deps.ofNetworks }

  /** The answer, if this sign-in is one too many. The account comes first: one that is over its limit uses up none of its network's. */
  return async (user: Pick<User, 'id' | 'username' | 'undoCount'>, request: FastifyRequest, reply: FastifyReply) => {
    const isKnown = knownDevices.find(user, signInCookies.knownIn(request)) !== undefined
    const limiter = isKnown ? ofKnownDevices : ofUnknownDevices
    const whom = async () => ({ userId: user.id, typedName: user.username })
    const limited = await counted.count(limiter, userSubject(user.id), request, reply, whom)
    return limited ?? counted.count(ofNetworks, clientNetwork(request), request, reply)
  }
}
