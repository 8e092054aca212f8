import type { FastifyReply, FastifyRequest } from 'fastify'
import { deviceSubject, type Limiter, limiters, type RouteLimiters, userSubject } from '../http/limiters.js'
import { type CountedRequests, limitHook } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'

import { nilUuid } from '../lib/uuid.js'
import type { Limit } from '../platform/cache/cache.js'
import type { Callers } from '../sessions/callers.js'
import type { FindAttemptedUser } from '../sessions/guards.js'
import type { DeviceOwner } from '../sessions/known-devices.js'

import type { NameMarks } from '../users/usernames.js'
import type { Users } from '../users/users.js'

import type { KnownBrowsers } from './known-browsers.js'

const deviceLimiter: Limiter = {
  name: 'device',
  limit: limiters.device.limit,
  code: 'too_many_logins',
  refundsSuccess: true,
  silent: true,
}

/** Counts all known devices of an account together: a user who signs in often has many of them. */
const knownDevicesLimiter: Limiter = { ...deviceLimiter, name: 'known', limit: limiters.known.limit }

const guessLimiters = { names: ['login', 'account'], code: 'too_many_logins' } as const

/** Stands for the account if the typed name has none. */
const noAccount: DeviceOwner = { id: nilUuid, undoCount: 0 }

type Dependencies = {
  countedRequests: CountedRequests
  routeLimiters: Pick<RouteLimiters, 'login'>
  /** The limit for all unknown devices together, for each name that was typed. */
  nameLimit: Limit
  /** `own`: a known device has its own counter in the login limiter. `shared`: it counts with its network. */
  knownDeviceCounter: 'shared' | 'own'
  nameMarks: Pick<NameMarks, 'of'>
  knownBrowsers: Pick<KnownBrowsers, 'claimsAny' | 'nonceOf'>
  callers: Callers
  users: Pick<Users, 'findByLogin' | 'findById'>
}

type Guess = { account: DeviceOwner; name: string; findAttemptedUser: FindAttemptedUser }

export type PasswordGuesses = ReturnType<typeof createPasswordGuesses>

/**
 * Limits guesses from many networks at one account. Unknown devices share one ceiling for each name that is typed, whether it exists or not.
 * That ceiling does not stop a known device, which has a few tries of its own, and counts as unknown when they are used up.
 */
export const createPasswordGuesses = (deps: Dependencies) => {
  const { countedRequests, knownDeviceCounter, nameMarks, knownBrowsers, callers, users } = deps
  const { login } = deps.routeLimiters
  const nameLimiter: Limiter = { ...deviceLimiter, name: 'account', limit: deps.nameLimit }

  const count = async ({ account, name, findAttemptedUser }: Guess, request: FastifyRequest, reply: FastifyReply) => {
    const isInLogin = countedRequests.hasReservation(request, login)
    const byNetwork = { limiter: login, subject: clientNetwork(request) }
    const nonce = knownBrowsers.nonceOf(account, request)
    if (nonce !== undefined) {
      const subject = deviceSubject(account.id, nonce)
      const inLogin = knownDeviceCounter === 'own' ? { limiter: login, subject, findAttemptedUser } : byNetwork
      const outcome = await countedRequests.countAll(
        [
          { limiter: deviceLimiter, subject, isOptional: true },
          { limiter: knownDevicesLimiter, subject: userSubject(account.id), isOptional: true },
          ...(isInLogin ? [] : [inLogin]),
        ],
        request,
        reply,
      )
      if (outcome !== 'optional refused') return outcome
    }
    const byName = { limiter: nameLimiter, subject: nameMarks.of(name) ?? '', findAttemptedUser }
    return countedRequests.countAll([...(isInLogin ? [] : [byNetwork]), byName], request, reply)
  }

  const countGuessOfUser = (account: DeviceOwner, name: string, request: FastifyRequest, reply: FastifyReply) =>
    count({ account, name, findAttemptedUser: async () => ({ userId: account.id, typedName: name }) }, request, reply)

  return {
    /** Counts before the body of a sign-in is read, so that a body that cannot be read counts, too. */
    beforeName: limitHook({ ...guessLimiters, names: ['login'] }, async (request, reply) =>
      knownDeviceCounter === 'own' && knownBrowsers.claimsAny(request)
        ? undefined
        : countedRequests.count(login, clientNetwork(request), request, reply),
    ),
    /** For a body with `username`. A name without an account takes the same work. */
    byName: limitHook(guessLimiters, async (request, reply) => {
      const { username: name } = request.body as { username: string }
      const user = knownBrowsers.claimsAny(request) ? await users.findByLogin(name) : undefined
      // When the limit is reached, the name is looked up for the event whether or not it has an account, so the time tells nothing.
      // `user` above cannot be used: it is looked up only for browsers with a device cookie.
      const findAttemptedUser = async () => ({ userId: (await users.findByLogin(name))?.id, typedName: name })
      return count({ account: user ?? noAccount, name, findAttemptedUser }, request, reply)
    }),
    /** For a signed-in user who confirms their identity with the password. */
    byCaller: limitHook(guessLimiters, async (request, reply) => {
      const { userId, username } = callers.of(request)
      const user = knownBrowsers.claimsAny(request) ? await users.findById(userId) : undefined
      return countGuessOfUser(user ?? { ...noAccount, id: userId }, username, request, reply)
    }),
    /** For a user who is known by something else than a name, such as a mailed link. */
    byUser: countGuessOfUser,
  }
}
