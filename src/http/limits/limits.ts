import type { FastifyReply, FastifyRequest } from 'fastify'
import type { LimitCode } from '../../contract/limits.js'
import type { KnownDevices } from '../../domain/known-devices/known-devices.js'
import { type LimiterName, limiterKey, limiters, sessionSubject, userSubject } from '../../domain/limiters/limiters.js'
import { waysToSignIn } from '../../domain/sign-in/ways-to-sign-in.js'
import type { NameMarks } from '../../domain/users/name-marks.js'
import type { Users } from '../../domain/users/users.js'
import type { Cache, Limit } from '../../platform/cache/cache.js'
import type { Callers } from '../caller.js'
import { clientConnection, clientNetwork } from '../client.js'
import type { SignInCookies } from '../cookies/sign-in-cookies.js'
import { type CountedRequests, createCountedRequests, type Limiter } from './counted-requests.js'
import type { Rejection } from './limited-events.js'
import { createPasswordGuesses } from './password-guesses.js'
import { createSignInLimits } from './sign-in-limits.js'

type Subject = (request: FastifyRequest) => string
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** What a hook counts, and how it refuses: the routes and their documents are made of it. */
type Counting = { names: readonly LimiterName[]; code: LimitCode }

const fixed = (name: 'service' | 'mailed_codes' | 'email_changes'): Limiter => ({
  name,
  limit: limiters[name].limit,
  code: 'too_many_requests',
})
const ofMailedCodes = fixed('mailed_codes')

type Dependencies = {
  cache: Cache
  callers: Callers
  login: Limit
  general: Limit
  sensitive: Limit
  account: Limit
  signIns: Limit
  networkSignIns: Limit
  networkMails: Limit
  loginOfKnownDevices: 'shared' | 'own'
  nameMarks: NameMarks
  knownDevices: KnownDevices
  signInCookies: SignInCookies
  users: Users
  onRejection: (rejection: Rejection, request: FastifyRequest) => Promise<void>
}

/** Whom a request counts for. */
const createSubjects = (callers: Callers) => {
  /** Each signed-in caller has its own count, so that an office behind one address does not lock itself out. */
  const sessionOf: Subject = (request) => sessionSubject(callers.of(request).sessionId)

  const userOf: Subject = (request) => userSubject(callers.of(request).userId)

  const keyOf: Subject = (request) => `key:${request.serviceKey?.id}`

  const sessionOrClientNetwork: Subject = (request) => {
    const session = callers.currentSessionOf(request)
    return session === undefined ? clientNetwork(request) : sessionSubject(session)
  }

  const callerOrClientNetwork: Subject = (request) =>
    callers.peek(request) === undefined ? clientNetwork(request) : sessionOf(request)

  return { sessionOf, userOf, keyOf, sessionOrClientNetwork, callerOrClientNetwork }
}

/** Around a password: its guesses, and those that were right. */
const createPasswordLimits = (
  deps: Dependencies,
  counted: CountedRequests,
  login: Limiter,
  counting: (what: Counting, hook: Hook) => Hook,
) => {
  const { account: ofNames, loginOfKnownDevices: knownDevicesCount } = deps
  const guesses = createPasswordGuesses({ ...deps, counted, login, ofNames, knownDevicesCount })
  const ofGuesses: Counting = { names: ['login', 'account'], code: 'too_many_logins' }
  return {
    /** `beforeName` and `byName` in front of a sign-in form, `byCaller` for a caller. */
    passwordBeforeName: counting({ ...ofGuesses, names: ['login'] }, guesses.beforeName),
    passwordByName: counting(ofGuesses, guesses.byName),
    passwordByCaller: counting(ofGuesses, guesses.byCaller),
    passwordOf: guesses.byUser,
    /** After a password that was right. */
    ...createSignInLimits({
      ...deps,
      counted,
      ofAccounts: deps.signIns,
      ofNetworks: deps.networkSignIns,
      knownDevicesCount,
    }),
  }
}

/** From inside a handler. */
const createMailLimits = ({ cache, networkMails, onRejection }: Dependencies, counted: CountedRequests) => ({
  /** Codes for a user who is not signed in yet. */
  mailedCodesTo: (userId: string, request: FastifyRequest, reply: FastifyReply) =>
    counted.count(ofMailedCodes, userSubject(userId), request, reply),
  /** A thief who knew the old password may have used up the codes of this hour. */
  forgetMailedCodes: (userId: string) => cache.forget(limiterKey(ofMailedCodes.name, userSubject(userId))),
  /**
   * Whether this client may cause one more mail to an address that it has not proven. Each address has a ceiling of its own, but there
   * are very many. The answer must not show it.
   */
  mayMailStranger: async (request: FastifyRequest) => {
    const key = limiterKey('network_mails', clientConnection(request))
    const { granted, resetsIn } = await cache.reserve(key, networkMails)
    if (!granted) await onRejection({ limiter: 'network_mails', key, resetsIn }, request)
    return granted
  },
})

type WayHooks = { [Way in keyof typeof waysToSignIn]: Hook }

/** In front of each way to sign in: the hook of its limiter. */
const createSignInHooks = (hooks: { login: Hook; general: Hook }) =>
  Object.fromEntries(Object.entries(waysToSignIn).map(([way, { limiter }]) => [way, hooks[limiter]])) as WayHooks

export type Limits = ReturnType<typeof createLimits>

export const createLimits = (deps: Dependencies) => {
  const { cache, callers, onRejection, general, sensitive } = deps
  const counted = createCountedRequests({ cache, onRejection })

  const { sessionOf, userOf, keyOf, sessionOrClientNetwork, callerOrClientNetwork } = createSubjects(callers)
  const countings = new Map<unknown, Counting>()

  const counting = (what: Counting, hook: Hook) => {
    countings.set(hook, what)
    return hook
  }

  const hook = (limiter: Limiter, subject: Subject) =>
    counting({ names: [limiter.name], code: limiter.code }, (request, reply) =>
      counted.count(limiter, subject(request), request, reply),
    )

  const ofLogins: Limiter = { name: 'login', limit: deps.login, code: 'too_many_logins', refundsSuccess: true }
  const ofRequests: Limiter = { name: 'general', limit: general, code: 'too_many_requests' }
  const ofSessions: Limiter = { ...ofRequests, name: 'session' }

  /** Counts in the limit of refreshes from inside a handler, which knows only later whether there is anything to count. */
  const reserveRotation = async (request: FastifyRequest) => {
    const key = limiterKey(ofSessions.name, sessionOrClientNetwork(request))
    const { granted, resetsIn, window } = await cache.reserve(key, ofSessions.limit)
    if (!granted) await onRejection({ limiter: ofSessions.name, key, resetsIn }, request)
    const retryAfter = Math.max(1, Math.ceil(resetsIn / 1000))
    return { granted, retryAfter, refund: () => cache.refund(key, window) }
  }

  const passwords = createPasswordLimits(deps, counted, ofLogins, counting)
  const byNetwork = hook(ofRequests, clientNetwork)

  return {
    login: hook(ofLogins, clientNetwork),
    ...passwords,
    beforeSignIn: createSignInHooks({ login: passwords.passwordBeforeName, general: byNetwork }),
    confirm: hook({ ...ofRequests, name: 'confirm', limit: deps.login, refundsSuccess: true }, clientNetwork),
    sensitive: hook({ name: 'sensitive', limit: sensitive, code: 'too_many_attempts' }, clientNetwork),
    /** For routes without sign-in, by network: a token does not change what is counted. */
    byNetwork,
    /** For routes behind `callers.required`. */
    bySession: hook(ofRequests, sessionOf),
    /** For routes that a sign-in which waits may use, too. */
    bySessionOrNetwork: hook(ofRequests, callerOrClientNetwork),
    mailedCodes: hook(ofMailedCodes, userOf),
    ...createMailLimits(deps, counted),
    emailChanges: hook(fixed('email_changes'), userOf),
    /** Separate from the general limit and from each other: a session can always be refreshed, and always be ended. */
    session: hook(ofSessions, sessionOrClientNetwork),
    logout: hook({ ...ofRequests, name: 'logout' }, sessionOrClientNetwork),
    /** For other programs: each key has its own count. */
    service: hook(fixed('service'), keyOf),
    reserveRotation,
    /** What this hook counts, if it is one of these. */
    countingOf: (hook: unknown) => countings.get(hook),
    countAsSuccess: counted.countAsSuccess,
    refundSuccess: counted.refundSuccess,
  }
}
