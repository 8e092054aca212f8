import type { FastifyReply, FastifyRequest } from 'fastify'
import type { DeviceOwner } from '../../domain/known-devices/known-devices.js'
import { deviceSubject, limiters, userSubject } from '../../domain/limiters/limiters.js'
import type { NameMarks } from '../../domain/users/name-marks.js'
import type { Users } from '../../domain/users/users.js'
import { nilUuid } from '../../lib/uuid.js'
import type { Limit } from '../../platform/cache/cache.js'
import type { Callers } from '../caller.js'
import { clientNetwork } from '../client.js'
import type { CountedRequests } from './counted-requests.js'
import type { KnownBrowsers } from './known-browsers.js'
import { limitHook } from './limit-hooks.js'
import type { Whom } from './limited-events.js'
import type { Limiter, RouteLimiters } from './limiter.js'

const ofDevices: Limiter = {
  name: 'device',
  limit: limiters.device.limit,
  code: 'too_many_logins',
  refundsSuccess: true,
  silent: true,
}

/** Of all known devices of an account together: a user who signs in often has many of them. */
const ofKnownDevices: Limiter = { ...ofDevices, name: 'known', limit: limiters.known.limit }

const ofGuesses = { names: ['login', 'account'], code: 'too_many_logins' } as const

/** For a name without an account. */
const noAccount: DeviceOwner = { id: nilUuid, undoCount: 0 }

type Dependencies = {
  countedRequests: CountedRequests
  routeLimiters: Pick<RouteLimiters, 'login'>
  /** For all unknown devices together, by the name that was typed. */
  ofNames: Limit
  /** `own`: a known device has its own count of the login limiter. */
  knownDevicesCount: 'shared' | 'own'
  nameMarks: Pick<NameMarks, 'of'>
  knownBrowsers: Pick<KnownBrowsers, 'claimsAny' | 'deviceOf'>
  callers: Callers
  users: Pick<Users, 'findByLogin' | 'findById'>
}

export type PasswordGuesses = ReturnType<typeof createPasswordGuesses>

/**
 * Guesses from many networks at one account. Unknown devices share one ceiling for each name that is typed, whether it exists or
 * not. A known device is not stopped by it, but has a few tries only, and counts as unknown when they are used up.
 */
export const createPasswordGuesses = (deps: Dependencies) => {
  const { countedRequests, knownDevicesCount, nameMarks, knownBrowsers, callers, users } = deps
  const { login } = deps.routeLimiters
  const ofNames: Limiter = { ...ofDevices, name: 'account', limit: deps.ofNames }

  type Guess = { account: DeviceOwner; name: string; whom: Whom }

  const isGranted = async (limiter: Limiter, subject: string, reply: FastifyReply) =>
    (await countedRequests.reserve(limiter, subject, reply)).granted

  const count = async ({ account, name, whom }: Guess, request: FastifyRequest, reply: FastifyReply) => {
    const userId = account.id
    const nonce = knownBrowsers.deviceOf(account, request)
    const device = nonce === undefined ? undefined : deviceSubject(userId, nonce)
    const isKnown =
      device !== undefined &&
      (await isGranted(ofDevices, device, reply)) &&
      (await isGranted(ofKnownDevices, userSubject(userId), reply))
    if (!countedRequests.holds(request, login)) {
      const own = isKnown && knownDevicesCount === 'own' ? device : undefined
      const limited = await countedRequests.count(
        login,
        own ?? clientNetwork(request),
        request,
        reply,
        own === undefined ? undefined : whom,
      )
      if (limited) return limited
    }
    return isKnown ? undefined : countedRequests.count(ofNames, nameMarks.of(name) ?? '', request, reply, whom)
  }

  const countUser = (account: DeviceOwner, name: string, request: FastifyRequest, reply: FastifyReply) =>
    count({ account, name, whom: async () => ({ userId: account.id, typedName: name }) }, request, reply)

  return {
    /** Before the body of a sign-in is read: one that cannot be read counts too. */
    beforeName: limitHook({ ...ofGuesses, names: ['login'] }, async (request, reply) =>
      knownDevicesCount === 'own' && knownBrowsers.claimsAny(request)
        ? undefined
        : countedRequests.count(login, clientNetwork(request), request, reply),
    ),
    /** For a body with `username`. The work is the same for a name that does not exist. */
    byName: limitHook(ofGuesses, async (request, reply) => {
      const { username: name } = request.body as { username: string }
      const user = knownBrowsers.claimsAny(request) ? await users.findByLogin(name) : undefined
      // Looked up in every case, so that the time does not show whether there is an account.
      const whom = async () => ({ userId: (await users.findByLogin(name))?.id, typedName: name })
      return count({ account: user ?? noAccount, name, whom }, request, reply)
    }),
    /** For a caller who proves it with the password. */
    byCaller: limitHook(ofGuesses, async (request, reply) => {
      const { userId, username } = callers.of(request)
      const user = knownBrowsers.claimsAny(request) ? await users.findById(userId) : undefined
      return countUser(user ?? { ...noAccount, id: userId }, username, request, reply)
    }),
    /** For a user whom something else names, such as a mailed link. */
    byUser: countUser,
  }
}
