import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { LinkedAccount } from '../contract/account-export.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { Account, AccountPatch, SignedIn } from '../contract/schemas.js'

import type { Freshness } from '../factors/freshness.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { IdentityLinks } from '../providers/identity-links.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import { sendRenewed, withHeaders } from '../sign-in/answers.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Users } from '../users/users.js'

import type { createProfile } from './profile.js'
import { accountBody } from './user-bodies.js'

const { responses, sendRefusal } = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const changeRefusals = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'fresh_sign_in_required',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'username_taken',
  'too_many_groups',
  'too_many_usernames',
  'invalid_fields',
)

const schema = {
  tags: ['account'],
  summary: 'The account of the caller',
  response: {
    200: Type.Object({
      user: Account,
      fields: Type.Array(ProfileFieldDefinition, {
        description: 'The definitions of the fields that `user.fields` can have',
      }),
      linkedAccounts: Type.Array(LinkedAccount, { description: 'The accounts at providers that sign the user in' }),
    }),
    ...responses,
  },
}
const changeSchema = {
  tags: ['account'],
  summary: 'Change the username, the name, the language or the profile fields',
  description:
    'A new username needs a fresh sign-in, and is in the new tokens of this session; other sessions get it at their next renewal. The former one is reserved for its owner for 30 days. At most five are reserved: 409 `too_many_usernames` says in `freeFrom` when the oldest becomes free. Null or an empty text removes the name, or a value of `fields`. The language is that of mails about the account; warnings keep the former one for seven days.',
  body: AccountPatch,
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'New access_token and refresh_token' }),
    ...changeRefusals.responses,
  },
}

type Dependencies = {
  guards: Guards
  profile: ReturnType<typeof createProfile>
  callers: Callers
  users: Users
  identityLinks: Pick<IdentityLinks, 'identitiesOf'>
  profileFields: ProfileFields
  freshness: Freshness
  cookies: Cookies
}

export const accountRoutes = (server: Server, deps: Dependencies) => {
  const { guards, profile, callers, users, identityLinks, profileFields, freshness, cookies } = deps
  const path = '/api/auth/account'

  server.get(path, { schema, onRequest: guards.read }, async (request, reply) => {
    const user = await users.findEnabled(callers.of(request).userId)
    if (!user) return sendRefusal(reply, refuse('not_authenticated'))
    return reply.send({
      user: accountBody(user, profileFields.knownValues(user.fields)),
      fields: [...profileFields.definitions],
      linkedAccounts: (await identityLinks.identitiesOf(user.id)).map(({ provider, email }) => ({ provider, email })),
    })
  })

  const requireFreshForUsername = async (request: FastifyRequest, reply: FastifyReply) => {
    const { username } = request.body as AccountPatch
    return username === undefined ? undefined : freshness.required(request, reply)
  }

  const onRequest = guards.change
  server.patch(
    path,
    { schema: changeSchema, onRequest, preHandler: requireFreshForUsername },
    async (request, reply) => {
      const changed = await profile.change(callers.contextOf(request), request.body)
      return isRefused(changed)
        ? changeRefusals.sendRefusal(reply, changed)
        : sendRenewed(reply, cookies, changed.issued)
    },
  )
}
