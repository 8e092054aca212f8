import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { SecondFactorNeeded, SignedIn, TypedPassword } from '../contract/schemas.js'
import type { Client } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Asker, Busy } from '../passwords/workers.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { App } from '../service/open-http.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Visit } from '../sessions/session-facts.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import { noteFailedSignIn, sendSignInStep } from './answers.js'
import type { SignIns } from './sign-ins.js'

type Rooms = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  RegistrationRoom & {
    passwords: Passwords
    signIns: SignIns
  }

/** The part of a visit that a guess of a password needs. */
type GuessVisit = { client: Client; knownDevices: Visit['knownDevices'] }

/** What was typed, and who has that name. `browserToken` is the secret of the registration that this browser began, if it began one. */
type Guess = {
  login: string
  password: string
  attemptedUser: Promise<User | undefined>
  browserToken: string | undefined
}

type ProvenUser = { user: User; needsRehash: boolean }
type PasswordMatch =
  | ProvenUser
  | { unconfirmed: true; user: User | undefined }
  | { wrongPasswordOf: User | undefined }
  | Busy

/** The same answer for every failure. */
const refuseCredentials = async (rooms: Rooms, client: Client, reason: string, userId: string | undefined) => {
  await noteFailedSignIn(rooms, client, { triedBy: 'password', reason, userId })
  return refuse('invalid_credentials')
}

/**
 * Compares the password with that of the account, and with that of a registration which this browser began with this name. Only this
 * browser is told to confirm the email: registrations of other browsers change neither the answer nor the work. The password of the
 * account is compared last, so a full queue, which costs no attempt, means that the guess was not compared with it.
 */
const matchPassword = async (
  { passwords, registrations, knownDevices }: Rooms,
  { login, password, attemptedUser, browserToken }: Guess,
  { client, knownDevices: values = [] }: GuessVisit,
): Promise<PasswordMatch> => {
  const [user, registration] = await Promise.all([attemptedUser, registrations.findByLogin(login, browserToken)])
  const isKnown = user !== undefined && knownDevices.find(user, values) !== undefined
  const asker = { ...client, isKnown }
  const registrationMatch = registration && (await passwords.verify(password, registration.passwordHash, asker))
  if (isRefused(registrationMatch)) return registrationMatch
  const userMatch = await passwords.verify(password, user?.passwordHash, asker)
  if (isRefused(userMatch)) return userMatch
  if (user && userMatch.matches) return { user, needsRehash: userMatch.needsRehash }
  return registrationMatch?.matches ? { unconfirmed: true, user } : { wrongPasswordOf: user }
}

/** Finds the user with this name and password. For every failure the work and the answer are the same. */
export const provePassword = async (rooms: Rooms, guess: Guess, visit: GuessVisit) => {
  const { client } = visit
  const match = await matchPassword(rooms, guess, visit)
  if (isRefused(match)) return match
  if ('unconfirmed' in match) {
    await noteFailedSignIn(rooms, client, { triedBy: 'password', reason: 'unconfirmed', userId: match.user?.id })
    return refuse('email_not_confirmed')
  }
  if ('wrongPasswordOf' in match) {
    const { wrongPasswordOf: user } = match
    const ofUser = user?.passwordHash ? 'wrong_password' : 'no_password'
    return refuseCredentials(rooms, client, user ? ofUser : 'unknown_user', user?.id)
  }
  return match
}

/**
 * Replaces a weak hash by a stronger one while the password is known, and returns the new hash. If the queue is full, this happens at
 * the next sign-in.
 */
const rehash = async (
  { passwords, userChanges }: Rooms,
  userId: string,
  password: string,
  oldHash: string,
  asker: Asker,
) => {
  const newHash = await passwords.hash(password, asker)
  if (isRefused(newHash)) return oldHash
  return (await userChanges.replaceHash(userId, oldHash, newHash)) ? newHash : oldHash
}

/** Another sign-in may have strengthened the hash since it was checked. Then the password is compared with the new hash. */
const signInAgain = async (
  { users, passwords, signIns }: Rooms,
  { id, disabled }: User,
  password: string,
  checkedHash: string,
  visit: Visit,
) => {
  const user = disabled ? undefined : await users.findById(id)
  const hash = user?.passwordHash
  if (!user || hash === undefined || hash === checkedHash) return undefined
  const verified = await passwords.verify(password, hash, visit.client)
  return !isRefused(verified) && verified.matches ? signIns.byPassword(user, hash, visit) : undefined
}

/** Signs in a user whose password was right: the answer is a session, or the next step. */
const enter = async (rooms: Rooms, { user, needsRehash }: ProvenUser, password: string, visit: Visit) => {
  const checkedHash = user.passwordHash ?? ''
  const hash = needsRehash ? await rehash(rooms, user.id, password, checkedHash, visit.client) : checkedHash
  const outcome =
    (await rooms.signIns.byPassword(user, hash, visit)) ?? (await signInAgain(rooms, user, password, hash, visit))
  return outcome ?? refuseCredentials(rooms, visit.client, user.disabled ? 'disabled' : 'password_changed', user.id)
}

export const loginRoutes = (server: Server, app: App) => {
  for (const path of ['/login', '/api/auth/login'] as const) {
    route(server, `POST ${path}`, {
      guard: [app.limits.beforeSignIn.password],
      tag: 'sign in',
      summary: 'Sign in with a username or an email, and a password',
      body: Type.Object({
        username: Type.String({ minLength: 1, maxLength: 254 }),
        password: TypedPassword,
      }),
      refuses: ['bad_request', 'invalid_credentials', 'email_not_confirmed', 'cross_site', 'busy', 'unavailable'],
      answers: {
        200: SignedIn,
        202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
      },
      config: { countsIn: ['device', 'known', 'sign_ins', 'known_sign_ins', 'network_sign_ins'] },
      preHandler: app.passwordGuesses.byName,
      onSend: [app.passwordGuesses.countUnread, app.countedRequests.refundSuccess],
      handle: async ({ body: { username, password }, request, reply }) => {
        const browserToken = app.cookies.read(request, 'registration')
        const browserVisit = app.signInCookies.visitOf(request, {})
        const visit = { ...browserVisit, client: { ...browserVisit.client, typedName: username } }
        const attemptedUser = app.passwordGuesses.attemptedUser(request, username)
        const proven = await provePassword(app, { login: username, password, attemptedUser, browserToken }, visit)
        if (isRefused(proven)) return proven
        const limited = await app.signInLimits.countSignIn(proven.user, request, reply)
        if (limited) return reply
        const outcome = await enter(app, proven, password, visit)
        return isRefused(outcome) ? outcome : sendSignInStep(reply, app, outcome)
      },
    })
  }
}
