import type { FastifyReply, FastifyRequest } from 'fastify'
import { waysToSignIn } from '../factors/ways-to-sign-in.js'
import { deviceSubject, limiterKey, type RouteLimiters, userSubject } from '../http/limiters.js'
import { type CountedRequests, type FindAttemptedUser, type LimitHook, limitHook } from '../http/limits.js'
import { clientNetwork, customerNetwork } from '../http/request-origin.js'
import { nilUuid } from '../lib/uuid.js'
import { recipientKey } from '../messages/mail-limits.js'
import type { Cache, Reservation } from '../platform/cache/cache.js'
import type { Callers } from '../sessions/callers.js'
import type { DeviceOwner, KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { NameMarks } from '../users/usernames.js'
import type { User, Users } from '../users/users.js'
import type { Ceilings } from './ceilings.js'

const guessLimiters = { names: ['login', 'account'], code: 'too_many_logins' } as const

/** Stands for the account if the typed name has none. */
const noAccount: DeviceOwner = { id: nilUuid, undoCount: 0 }

type Parts = {
  cache: Cache
  countedRequests: CountedRequests
  routeLimiters: RouteLimiters
  ceilings: Ceilings
  callers: Callers
  signInCookies: SignInCookies
  knownDevices: KnownDevices
  nameMarks: NameMarks
  users: Users
  /**
   * `own`: a known device has its own counter in the limiters of networks, so that others in its network cannot stop it. `shared`: it
   * counts with its network.
   */
  knownDeviceCounter: 'shared' | 'own'
}

export type SignInLimits = ReturnType<typeof createSignInLimits>
export type MailLimits = ReturnType<typeof createMailLimits>

/** What stands in the way of guesses, of programs that sign in again and again, and of mails to strangers. */
export const createGuessLimits = (parts: Parts) => ({
  passwordGuesses: createPasswordGuesses(parts),
  signInLimits: createSignInLimits(parts),
  mailSignInLimits: createMailSignInLimits(parts),
  mailLimits: createMailLimits(parts),
})

/** True if the browser claims that any account has signed in with it. Nothing is checked. */
const claimsAnyAccount = ({ signInCookies }: Parts, request: FastifyRequest) =>
  signInCookies.knownDevicesIn(request).length > 0

/** The key by which failures in this browser count; undefined if the account has not signed in with it. */
const nonceOf = ({ knownDevices, signInCookies }: Parts, account: DeviceOwner, request: FastifyRequest) =>
  knownDevices.find(account, signInCookies.knownDevicesIn(request))

/** The key by which sign-ins in this browser count, which a new sign-in does not change; undefined as above. */
const browserOf = ({ knownDevices, signInCookies }: Parts, account: DeviceOwner, request: FastifyRequest) =>
  knownDevices.browserKey(account, signInCookies.knownDevicesIn(request))

type Guess = { account: DeviceOwner; name: string; findAttemptedUser: FindAttemptedUser }

/**
 * Limits guesses from many networks at one account. Unknown devices share one ceiling for each name that is typed, whether it exists or not.
 * That ceiling does not stop a known device, which has a few tries of its own, and counts as unknown when they are used up.
 */
const createPasswordGuesses = (parts: Parts) => {
  const { cache, countedRequests, knownDeviceCounter, nameMarks, callers, users } = parts
  const { login, account: accountLimiter, device, known } = parts.routeLimiters
  const foundFor = new WeakMap<FastifyRequest, { user: User | undefined }>()
  /** Requests that still have to be counted by their network. */
  const uncounted = new WeakSet<FastifyRequest>()

  const count = async ({ account, name, findAttemptedUser }: Guess, request: FastifyRequest, reply: FastifyReply) => {
    uncounted.delete(request)
    const isInLogin = countedRequests.hasReservation(request, login)
    const byNetwork = { limiter: login, subject: clientNetwork(request) }
    const nonce = nonceOf(parts, account, request)
    if (nonce !== undefined) {
      const subject = deviceSubject(account.id, nonce)
      const inLogin = knownDeviceCounter === 'own' ? { limiter: login, subject, findAttemptedUser } : byNetwork
      const outcome = await countedRequests.countAll(
        [
          { limiter: device, subject, isOptional: true },
          { limiter: known, subject: userSubject(account.id), isOptional: true },
          ...(isInLogin ? [] : [inLogin]),
        ],
        request,
        reply,
      )
      if (outcome !== 'optional refused') return outcome
    }
    const byName = { limiter: accountLimiter, subject: nameMarks.of(name) ?? '', findAttemptedUser }
    return countedRequests.countAll([...(isInLogin ? [] : [byNetwork]), byName], request, reply)
  }

  const countGuessOfUser = (account: DeviceOwner, name: string, request: FastifyRequest, reply: FastifyReply) =>
    count({ account, name, findAttemptedUser: async () => ({ userId: account.id, typedName: name }) }, request, reply)

  return {
    /**
     * A sign-in is counted with its name, all at once. Already here if its network has used up its tries, as far as this process knows: a
     * flood must not look for names.
     */
    beforeName: limitHook({ ...guessLimiters, names: ['login'] }, async (request, reply) => {
      if (knownDeviceCounter === 'own' && claimsAnyAccount(parts, request)) return undefined
      const subject = clientNetwork(request)
      if (cache.seemsFull(limiterKey(login.name, subject))) return countedRequests.count(login, subject, request, reply)
      uncounted.add(request)
      return undefined
    }),
    /** A body that cannot be read counts, too. */
    countUnread: async (request: FastifyRequest, reply: FastifyReply, payload: unknown) =>
      uncounted.delete(request)
        ? countedRequests.countAnswered(login, clientNetwork(request), reply, payload)
        : payload,
    /** For a body with `username`. A name without an account takes the same work. */
    byName: limitHook(guessLimiters, async (request, reply) => {
      const { username: name } = request.body as { username: string }
      const isLookedUp = claimsAnyAccount(parts, request)
      const user = isLookedUp ? await users.findByLogin(name) : undefined
      if (isLookedUp) foundFor.set(request, { user })
      // When the limit is reached, the name is looked up for the event whether or not it has an account, so the time tells nothing.
      // `user` above cannot be used: it is looked up only for browsers with a device cookie.
      const findAttemptedUser = async () => ({ userId: (await users.findByLogin(name))?.id, typedName: name })
      return count({ account: user ?? noAccount, name, findAttemptedUser }, request, reply)
    }),
    /** The user with the typed name, whom `byName` may have found already. */
    attemptedUser: (request: FastifyRequest, name: string) => {
      const found = foundFor.get(request)
      return found ? Promise.resolve(found.user) : users.findByLogin(name)
    },
    /** For a signed-in user who confirms their identity with the password. */
    byCaller: limitHook(guessLimiters, async (request, reply) => {
      const { userId, username } = callers.of(request)
      const user = claimsAnyAccount(parts, request) ? await users.findById(userId) : undefined
      return countGuessOfUser(user ?? { ...noAccount, id: userId }, username, request, reply)
    }),
    /** For a user who is known by something else than a name, such as a mailed link. */
    byUser: countGuessOfUser,
  }
}

/**
 * Limits sign-ins with the right password: a program that signs in again and again, instead of keeping its session, would fill the
 * tables and keep the threads busy. They are counted after the proof, so that only a client with the password can use them up. Each
 * known device has its own counter, so a thief with the password cannot lock out the owner's browser, not even from another known device.
 */
const createSignInLimits = (parts: Parts) => {
  const { cache, countedRequests, routeLimiters, knownDeviceCounter } = parts
  const { sign_ins: byUser, known_sign_ins: byDevice, network_sign_ins: byNetwork } = routeLimiters

  return {
    /**
     * Counts a sign-in, and answers if it is one too many. The account is counted first: if it is over its limit, the network loses no
     * attempt. The guess, which was right, is given back in the same moment, but not if the answer will be that of a wrong one.
     */
    countSignIn: async (
      user: DeviceOwner & { username: string; disabled: boolean },
      request: FastifyRequest,
      reply: FastifyReply,
    ) => {
      const browser = browserOf(parts, user, request)
      const findAttemptedUser = async () => ({ userId: user.id, typedName: user.username })
      const byAccount =
        browser === undefined
          ? { limiter: byUser, subject: userSubject(user.id), findAttemptedUser }
          : { limiter: byDevice, subject: deviceSubject(user.id, browser), findAttemptedUser }
      const countsByNetwork = browser === undefined || knownDeviceCounter !== 'own'
      const ofNetwork = { limiter: byNetwork, subject: clientNetwork(request) }
      const attempts = countsByNetwork ? [byAccount, ofNetwork] : [byAccount]
      return countedRequests.countAll(attempts, request, reply, { releases: !user.disabled })
    },
    /** Resets the count after a new password, because a thief who knew the earlier one may have used the sign-ins up. */
    resetSignInCount: async (account: DeviceOwner, request: FastifyRequest) => {
      const browser = browserOf(parts, account, request)
      await Promise.all([
        cache.forget(limiterKey(byUser.name, userSubject(account.id))),
        browser !== undefined && cache.forget(limiterKey(byDevice.name, deviceSubject(account.id, browser))),
      ])
    },
  }
}

/**
 * Limits the sign-in mails that a network can cause and that a mailbox gets, however its address is spelled. A browser in which the
 * account was signed in before has its own limit, so that others cannot use up the mails of the owner, and no ceiling of the installation
 * stops it. The answer to the client must not show the result.
 */
const createMailSignInLimits = (parts: Parts) => {
  const { countedRequests, routeLimiters, users, nameMarks, ceilings } = parts
  const { mail_sign_ins: byMailbox, network_mail_sign_ins: byNetwork } = routeLimiters

  /** The browser of the account, if it was signed in there before. */
  const knownBrowserOf = async (email: string, request: FastifyRequest) => {
    const user = claimsAnyAccount(parts, request) ? await users.findByEmail(email) : undefined
    const browser = user && browserOf(parts, user, request)
    return user && browser !== undefined ? deviceSubject(user.id, browser) : undefined
  }

  return {
    /**
     * Counts one more sign-in, and says whether its mail may be sent. A mail that the limit of the network stops does not count for the
     * mailbox. `excess`: too many sign-ins wait in the whole installation, whatever the address, so the request is refused.
     */
    count: async (email: string, request: FastifyRequest): Promise<{ mayMail: boolean } | { excess: Reservation }> => {
      const knownBrowser = await knownBrowserOf(email, request)
      const isKnown = knownBrowser !== undefined
      // When the limit is reached, the address is looked up for the event whether or not it has an account, so the time tells nothing.
      const findAttemptedUser = async () => ({ userId: (await users.findByEmail(email))?.id, typedName: email })
      const waiting = isKnown ? [] : ceilings.attemptsAt('total_mail_sign_ins', request)
      const excess = await countedRequests.findExcess(
        [
          ...waiting,
          { limiter: byNetwork, subject: customerNetwork(request) },
          { limiter: byMailbox, subject: knownBrowser ?? nameMarks.of(recipientKey(email)) ?? '', findAttemptedUser },
          ...(isKnown ? [] : ceilings.mailAttempts('visitor', request)),
        ],
        request,
      )
      if (excess && excess.place < waiting.length) return { excess: excess.reservation }
      return { mayMail: excess === undefined }
    },
  }
}

/** `newcomer`: the mail is about a registration. `visitor`: about an account, and so are those that a signed-in `user` asks for. */
type MailAskedBy = 'newcomer' | 'visitor' | 'user'

/** How many mails a client can cause, counted from inside a handler. */
const createMailLimits = ({ cache, countedRequests, routeLimiters, ceilings }: Parts) => {
  const { mailed_codes: mailedCodes, network_mails: byNetwork } = routeLimiters
  return {
    /** Counts a mailed code for a user who is not signed in yet. */
    countMailedCode: (userId: string, request: FastifyRequest, reply: FastifyReply) =>
      countedRequests.count(mailedCodes, userSubject(userId), request, reply),
    /** Resets the count, because a thief who knew the old password may have used up the codes of this hour. */
    resetMailedCodeCount: (userId: string) => cache.forget(limiterKey(mailedCodes.name, userSubject(userId))),
    /**
     * Counts one more mail to an address that this client has not proven, and says whether it may be sent. Each address has its own
     * limit, too, but there are very many addresses. The answer to the client must not show the result.
     */
    mayMailStranger: async (request: FastifyRequest, askedBy: MailAskedBy) => {
      const ofNetwork = { limiter: byNetwork, subject: customerNetwork(request) }
      // A signed-in user has a limit of their own, and is not stopped by what strangers do.
      const ofEverybody = askedBy === 'user' ? [] : ceilings.mailAttempts(askedBy, request)
      return (await countedRequests.findExcess([ofNetwork, ...ofEverybody], request)) === undefined
    },
  }
}

type WaysToSignIn = typeof waysToSignIn
/** The setup counts in its handler, because a right token always works. */
type CountedWay = {
  [Way in keyof WaysToSignIn]: WaysToSignIn[Way]['limiter'] extends 'setup' ? never : Way
}[keyof WaysToSignIn]

/** The hook of the limiter in front of each way to sign in. */
export const hooksOfWays = (hooks: Record<WaysToSignIn[CountedWay]['limiter'], LimitHook>) =>
  Object.fromEntries(
    Object.entries(waysToSignIn).flatMap(([way, { limiter }]) => (limiter === 'setup' ? [] : [[way, hooks[limiter]]])),
  ) as Record<CountedWay, LimitHook>
