import { type Static, Type } from 'typebox'
import { longestName } from '../contract/name-lengths.js'
import { isRefused, refuse } from '../contract/outcome.js'
import {
  LinkToken,
  SecondFactorNeeded,
  SignedIn,
  TypedPassword,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'
import { usernameRefusals } from '../contract/usernames.js'
import { type Limiter, limiters } from '../http/limiters.js'
import { type Client, clientNetwork } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { seconds } from '../lib/durations.js'
import type { App } from '../service/open-http.js'
import { sendSignInStep } from '../sign-in/answers.js'
import { displayName, readChosenUsername, readEmail, usernameFromEmail } from '../users/names.js'

const FirstAccount = Type.Object({
  token: LinkToken,
  username: Type.Optional(TypedUsername),
  email: Type.String({ maxLength: 1024 }),
  name: Type.Optional(Type.String({ maxLength: longestName })),
  password: TypedPassword,
})

/** How long it is remembered that there is a user. After that an operator may have deleted all of them, and may set up again. */
const setUpHolds = 10 * seconds

const wrongTokens: Limiter = { name: 'setup', limit: limiters.setup.limit, code: 'too_many_requests' }

/** Makes the first account, by the rules of a registration. The token comes first: without it, nothing here works or says anything. */
const makeAccount = async (
  { setup, newUsers, usernames, passwords }: App,
  request: Static<typeof FirstAccount>,
  client: Client,
) => {
  const refusal = await setup.refusalFor(request.token)
  if (refusal) return refusal
  const email = readEmail(request.email)
  if (isRefused(email)) return email
  const username =
    request.username === undefined
      ? await newUsers.freeUsername(usernameFromEmail(email).username)
      : readChosenUsername(request.username)
  if (isRefused(username)) return username
  if (request.username !== undefined && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
  const name = displayName(request.name)
  const person = { username: username.username, email: email.email, name }
  const rejected = await passwords.refusalFor(request.password, person, client)
  if (rejected) return rejected
  const passwordHash = await passwords.hash(request.password, client)
  if (isRefused(passwordHash)) return passwordHash
  const user = { email, username, name, passwordHash, language: client.language }
  return setup.createAdministrator(request.token, user, client)
}

export const setupRoutes = (server: Server, app: App) => {
  const { setup, signIns, usernameSource, countedRequests, signInCookies, log, clock } = app
  /** No limiter counts what comes after the setup, so the database is asked seldom. */
  let foundSetUpAt = Number.NEGATIVE_INFINITY
  let hasAdvised = false
  /** Anyone can send such a request, so the line is logged once. */
  const adviseOnce = async () => {
    if (hasAdvised) return
    hasAdvised = true
    const advice = await setup.adviceWithoutAdministrator()
    if (advice !== undefined) log.warn(`setup: ${advice}`)
  }

  route(server, 'POST /api/auth/setup', {
    guard: [],
    tag: 'registration',
    summary: 'Make the first account, with the link that the first start has logged',
    body: withRequiredUsername(FirstAccount, usernameSource),
    refuses: [
      'bad_request',
      'email_shape',
      ...usernameRefusals,
      'cross_site',
      'invalid_setup_token',
      'username_taken',
      'admin_group_needed',
      'already_set_up',
      'password_rejected',
      'too_many_requests',
      'busy',
      'unavailable',
    ],
    answers: {
      201: withHeaders(SignedIn, { 'Set-Cookie': 'access_token, refresh_token and known_device' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge' }),
    },
    config: { countsIn: ['setup'] },
    handle: async ({ body, request, reply }) => {
      const now = clock.now().getTime()
      if (Math.abs(now - foundSetUpAt) < setUpHolds) return refuse('already_set_up')
      const visit = signInCookies.visitOf(request, {})
      const user = await makeAccount(app, body, visit.client)
      if (isRefused(user)) {
        // Nobody must be able to use up the tries of the operator, whose network may be everybody's while no proxy is trusted.
        const isWrongToken = user.refused === 'invalid_setup_token'
        if (isWrongToken && (await countedRequests.count(wrongTokens, clientNetwork(request), request, reply)))
          return reply
        if (user.refused === 'already_set_up') {
          foundSetUpAt = now
          await adviseOnce()
        }
        return user
      }
      log.info({ userId: user.id }, 'setup: the first account was made')
      const outcome = await signIns.bySetup(user, visit)
      if (!outcome) throw new Error('The first account has changed while its session began')
      return sendSignInStep(reply, app, outcome)
    },
  })
}
