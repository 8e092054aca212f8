import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refused } from '../contract/outcome.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Cookies } from '../http/cookies.js'
import type { Callers } from '../sessions/callers.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { PendingLinkCookie } from '../sign-in/answers.js'
import type { Users } from '../users/users.js'

type Dependencies = {
  users: Pick<Users, 'findById'>
  trustedDevices: Pick<TrustedDevices, 'tokensOf'>
  knownDevices: Pick<KnownDevices, 'valuesOf'>
  callers: Pick<Callers, 'find' | 'sessionOfRefreshToken'>
  cookies: Cookies
  signInCookies: SignInCookies
  pendingLinkCookie: PendingLinkCookie
}

export type DeletedAccounts = ReturnType<typeof createDeletedAccounts>

/** Clears the cookies of a deleted account in the browser that deleted it. Those of other accounts stay. */
export const createDeletedAccounts = (deps: Dependencies) => {
  const { users, trustedDevices, knownDevices, callers, cookies, signInCookies, pendingLinkCookie } = deps

  /** Read before the deletion, because afterwards nothing tells which values belonged to the account. */
  const devicesOf = async (request: FastifyRequest, userId: string) => {
    const values = [...signInCookies.trustedDevicesIn(request), ...signInCookies.knownDevicesIn(request)]
    const user = await users.findById(userId)
    const knownValues = user ? knownDevices.valuesOf(user, values) : []
    return [...(await trustedDevices.tokensOf(userId, values)), ...knownValues]
  }

  const hasSessionOf = (request: FastifyRequest, userId: string) =>
    [callers.find(request), callers.sessionOfRefreshToken(request)].some((session) => session?.userId === userId)

  return {
    /** Runs the deletion, and clears the cookies of the account if it was not refused. */
    deleteAndClear: async <Refusal extends Refused>(
      reply: FastifyReply,
      userId: string,
      deleteAccount: () => Promise<Refusal | undefined>,
    ): Promise<Refusal | undefined> => {
      const { request } = reply
      const devices = await devicesOf(request, userId)
      const hadSession = hasSessionOf(request, userId)
      const refusal = await deleteAccount()
      if (refusal) return refusal
      if (hadSession) cookies.clearSession(reply)
      cookies.clear(reply, 'registration')
      pendingLinkCookie.clear(reply)
      signInCookies.clearChallenge(reply)
      signInCookies.forgetDevices(request, reply, devices)
      return undefined
    },
  }
}
