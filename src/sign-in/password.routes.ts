import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { SecondFactorNeeded, SignedIn, TypedPassword } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import type { Client } from '../http/request-origin.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Asker, Busy } from '../passwords/workers.js'
import type { Registrations } from '../registration/registrations.js'
import type { Limits } from '../sessions/guards.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { User, UserChanges, Users } from '../users/users.js'
import { sendSignInStep } from './answers.js'
import type { PasswordGuesses, SignInLimits } from './guess-limits.js'
import type { SignIns, Visit } from './sign-ins.js'

/** The part of a visit that a guess of a password needs. */
type GuessVisit = Pick<Visit, 'client' | 'knownDevices'>

type ProvenUser = { user: User; needsRehash: boolean }
type PasswordMatch =
  | ProvenUser
  | { unconfirmed: true; user: User | undefined }
  | { wrongPasswordOf: User | undefined }
  | Busy

type LoginDependencies = {
  users: Users
  userChanges: UserChanges
  passwords: Passwords
  registrations: Registrations
  signIns: SignIns
  knownDevices: KnownDevices
  events: Events
}

/** Records failed sign-ins, and gives the same answer for every failure. */
const createFailures = ({ events }: LoginDependencies) => {
  /** An event of a known user takes the database longer than one without a user. The answer waits long enough to hide this. */
  const noteFailure = async (client: Client, reason: string, userId: string | undefined) => {
    const failed = { kind: 'sign_in_failed', triedBy: 'password', reason } as const
    await takeAtLeast(minResponseTime, events.record({ ...failed, ...(userId !== undefined && { userId }) }, client))
  }

  const refuseCredentials = async (client: Client, reason: string, userId?: string) => {
    await noteFailure(client, reason, userId)
    return refuse('invalid_credentials')
  }

  return { noteFailure, refuseCredentials }
}

/**
 * Compares the password with that of the account, and with that of a registration which this browser began with this name. Only this
 * browser is told to confirm the email: registrations of other browsers change neither the answer nor the work. The password of the
 * account is compared last, so a full queue, which costs no attempt, means that the guess was not compared with it.
 */
const createMatchPassword =
  ({ users, passwords, registrations, knownDevices }: LoginDependencies) =>
  async (
    login: string,
    password: string,
    browserToken: string | undefined,
    { client, knownDevices: values = [] }: GuessVisit,
  ): Promise<PasswordMatch> => {
    const [user, registration] = await Promise.all([
      users.findByLogin(login),
      registrations.findByLogin(login, browserToken),
    ])
    const isKnown = user !== undefined && knownDevices.find(user, values) !== undefined
    const asker = { ...client, isKnown }
    const registrationMatch = registration && (await passwords.verify(password, registration.passwordHash, asker))
    if (isRefused(registrationMatch)) return registrationMatch
    const userMatch = await passwords.verify(password, user?.passwordHash, asker)
    if (isRefused(userMatch)) return userMatch
    if (user && userMatch.matches) return { user, needsRehash: userMatch.needsRehash }
    return registrationMatch?.matches ? { unconfirmed: true, user } : { wrongPasswordOf: user }
  }

/** Signs in a user whose password was right: the answer is a session, or the next step. */
const createEnter = (deps: LoginDependencies) => {
  const { users, userChanges, passwords, signIns } = deps
  const { refuseCredentials } = createFailures(deps)

  /**
   * Replaces a weak hash by a stronger one while the password is known, and returns the new hash. If the queue is full, this happens at
   * the next sign-in.
   */
  const rehash = async (userId: string, password: string, oldHash: string, asker: Asker) => {
    const newHash = await passwords.hash(password, asker)
    if (isRefused(newHash)) return oldHash
    return (await userChanges.replaceHash(userId, oldHash, newHash)) ? newHash : oldHash
  }

  /** Another sign-in may have strengthened the hash since it was checked. Then the password is compared with the new hash. */
  const signInAgain = async ({ id, disabled }: User, password: string, checkedHash: string, visit: Visit) => {
    const user = disabled ? undefined : await users.findById(id)
    const hash = user?.passwordHash
    if (!user || hash === undefined || hash === checkedHash) return undefined
    const verified = await passwords.verify(password, hash, visit.client)
    return !isRefused(verified) && verified.matches ? signIns.byPassword(user, hash, visit) : undefined
  }

  const signIn = async (user: User, password: string, passwordHash: string, visit: Visit) => {
    const outcome =
      (await signIns.byPassword(user, passwordHash, visit)) ?? (await signInAgain(user, password, passwordHash, visit))
    return outcome ?? refuseCredentials(visit.client, user.disabled ? 'disabled' : 'password_changed', user.id)
  }

  return async ({ user, needsRehash }: ProvenUser, password: string, visit: Visit) => {
    const passwordHash = user.passwordHash ?? ''
    const hash = needsRehash ? await rehash(user.id, password, passwordHash, visit.client) : passwordHash
    return signIn(user, password, hash, visit)
  }
}

/** Signs in by username or email. For every failure the work and the answer are the same. */
export const createLogin = (deps: LoginDependencies) => {
  const matchPassword = createMatchPassword(deps)
  const { noteFailure, refuseCredentials } = createFailures(deps)

  /**
   * Finds the user with this name and password. `browserToken` is the secret of the registration that this browser began, if it began
   * one.
   */
  const prove = async (login: string, password: string, browserToken: string | undefined, visit: GuessVisit) => {
    const { client } = visit
    const match = await matchPassword(login, password, browserToken, visit)
    if (isRefused(match)) return match
    if ('unconfirmed' in match) {
      await noteFailure(client, 'unconfirmed', match.user?.id)
      return refuse('email_not_confirmed')
    }
    if ('wrongPasswordOf' in match) {
      const { wrongPasswordOf: user } = match
      if (!user) return refuseCredentials(client, 'unknown_user')
      return refuseCredentials(client, user.passwordHash ? 'wrong_password' : 'no_password', user.id)
    }
    return match
  }

  return { prove, enter: createEnter(deps) }
}

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_credentials',
  'email_not_confirmed',
  'cross_site',
  'too_many_logins',
  'busy',
  'unavailable',
)

const schema = {
  tags: ['sign in'],
  summary: 'Sign in with a username or an email, and a password',
  body: Type.Object({
    username: Type.String({ minLength: 1, maxLength: 254 }),
    password: TypedPassword,
  }),
  response: {
    200: SignedIn,
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
    ...responses,
  },
}

type LoginRouteDependencies = {
  login: ReturnType<typeof createLogin>
  limits: Limits
  passwordGuesses: PasswordGuesses
  signInLimits: SignInLimits
  countedRequests: CountedRequests
  cookies: Cookies
  signInCookies: SignInCookies
}

export const loginRoutes = (server: Server, deps: LoginRouteDependencies) => {
  const { login, limits, passwordGuesses, signInLimits, countedRequests, cookies, signInCookies } = deps
  const options = {
    schema,
    onRequest: limits.beforeSignIn.password,
    preHandler: passwordGuesses.byName,
    onSend: countedRequests.refundSuccess,
    config: { countsIn: ['device', 'known', 'sign_ins', 'known_sign_ins', 'network_sign_ins'] as const },
  }
  for (const path of ['/login', '/api/auth/login']) {
    server.post(path, options, async (request, reply) => {
      const { username, password } = request.body
      const browserToken = cookies.read(request, 'registration')
      const browserVisit = signInCookies.visitOf(request)
      const visit = { ...browserVisit, client: { ...browserVisit.client, typedName: username } }
      const proven = await login.prove(username, password, browserToken, visit)
      if (isRefused(proven)) return sendRefusal(reply, proven)
      const limited = await signInLimits.countSignIn(proven.user, request, reply)
      if (limited) return reply
      const result = await login.enter(proven, password, visit)
      return isRefused(result) ? sendRefusal(reply, result) : sendSignInStep(reply, { cookies, signInCookies }, result)
    })
  }
}
