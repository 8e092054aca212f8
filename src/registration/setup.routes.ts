import { type Static, Type } from 'typebox'
import { longestName } from '../contract/names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UsernameSource } from '../contract/pages.js'
import {
  LinkToken,
  SecondFactorNeeded,
  SignedIn,
  TypedPassword,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { fixedLimiter } from '../http/limiters.js'
import type { CountedRequests } from '../http/limits.js'
import { type Client, clientNetwork } from '../http/request-origin.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Passwords } from '../passwords/passwords.js'
import type { Log } from '../platform/log.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendSignInStep } from '../sign-in/answers.js'
import type { SignIns } from '../sign-in/sign-ins.js'

import { displayName, readChosenUsername, readEmail, usernameFromEmail } from '../users/names.js'
import type { NewUsers } from '../users/new-users.js'
import type { Usernames } from '../users/usernames.js'

import type { Setup } from './setup.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'email_shape',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'cross_site',
  'invalid_setup_token',
  'username_taken',
  'admin_group_needed',
  'already_set_up',
  'password_rejected',
  'too_many_requests',
  'busy',
  'unavailable',
)

const schema = {
  tags: ['registration'],
  summary: 'Make the first account, with the link that the first start has logged',
  body: Type.Object({
    token: LinkToken,
    username: Type.Optional(TypedUsername),
    email: Type.String({ maxLength: 1024 }),
    name: Type.Optional(Type.String({ maxLength: longestName })),
    password: TypedPassword,
  }),
  response: {
    201: withHeaders(SignedIn, { 'Set-Cookie': 'access_token, refresh_token and known_device' }),
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge' }),
    ...responses,
  },
}

const wrongTokens = fixedLimiter('setup')

type AccountDependencies = {
  setup: Setup
  newUsers: NewUsers
  usernames: Usernames
  passwords: Passwords
}

/** Makes the first account, by the rules of a registration. The token comes first: without it, nothing here works or says anything. */
const createMakeAccount =
  ({ setup, newUsers, usernames, passwords }: AccountDependencies) =>
  async (request: Static<typeof schema.body>, client: Client) => {
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

type Dependencies = AccountDependencies & {
  setup: Setup
  signIns: SignIns
  usernameSource: UsernameSource
  countedRequests: CountedRequests
  cookies: Cookies
  signInCookies: SignInCookies
  log: Log
}

export const setupRoutes = (server: Server, deps: Dependencies) => {
  const { setup, signIns, usernameSource, countedRequests, cookies, signInCookies, log } = deps
  const makeAccount = createMakeAccount(deps)
  let hasAdvised = false
  /** Anyone can send such a request, so the line is logged once. */
  const adviseOnce = async () => {
    if (hasAdvised) return
    hasAdvised = true
    const advice = await setup.adviceWithoutAdministrator()
    if (advice !== undefined) log.warn(`setup: ${advice}`)
  }
  const options = {
    schema: { ...schema, body: withRequiredUsername(schema.body, usernameSource) },
    config: { countsIn: ['setup'] as const },
  }
  server.post('/api/auth/setup', options, async (request, reply) => {
    const visit = signInCookies.visitOf(request)
    const user = await makeAccount(request.body, visit.client)
    if (isRefused(user)) {
      // Nobody must be able to use up the tries of the operator, whose network may be everybody's while no proxy is trusted.
      const isWrongToken = user.refused === 'invalid_setup_token'
      if (isWrongToken && (await countedRequests.count(wrongTokens, clientNetwork(request), request, reply)))
        return reply
      if (user.refused === 'already_set_up') await adviseOnce()
      return sendRefusal(reply, user)
    }
    log.info({ userId: user.id }, 'setup: the first account was made')
    const outcome = await signIns.bySetup(user, visit)
    if (!outcome) throw new Error('The first account has changed while its session began')
    if ('issued' in outcome) reply.status(201)
    return sendSignInStep(reply, { cookies, signInCookies }, outcome)
  })
}
