import { Type } from 'typebox'
import { longestName } from '../../contract/name-lengths.js'
import { isRefused } from '../../contract/outcome.js'
import { ProfileFieldChanges } from '../../contract/profile-fields.js'
import { SendingApplication, TypedPassword } from '../../contract/request-fields.js'
import { Accepted } from '../../contract/schemas.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies/cookies.js'
import type { Limits } from '../../http/limits/limits.js'
import type { MailLimits } from '../../http/limits/mail-limits.js'
import { withHeaders } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createRegister } from './register.js'

/** The same body in every case: it does not show whether the email has an account. */
const accepted = { message: 'Check your mail to finish the registration' }

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'email_shape',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'registration_closed',
  'invitation_required',
  'invalid_invitation',
  'email_domain_not_allowed',
  'cross_site',
  'username_taken',
  'password_rejected',
  'invalid_fields',
  'terms_changed',
  'too_many_requests',
  'busy',
  'unavailable',
)

const schema = {
  tags: ['registration'],
  summary: 'Register; the account is created when the email is confirmed',
  body: Type.Object({
    // Longer than a name or an email may be: their own rules say what is wrong, each with its code.
    username: Type.String({ maxLength: 1024 }),
    email: Type.String({ maxLength: 1024 }),
    password: TypedPassword,
    name: Type.Optional(Type.String({ maxLength: longestName })),
    fields: Type.Optional(ProfileFieldChanges),
    terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
    invite: Type.Optional(Type.String({ maxLength: 1024, description: 'The token of an invitation for this address' })),
    application: Type.Optional(SendingApplication),
  }),
  response: {
    202: withHeaders(Accepted, { 'Set-Cookie': 'What ties this browser to the registration' }),
    ...responses,
  },
}

type Dependencies = {
  register: ReturnType<typeof createRegister>
  limits: Limits
  mailLimits: MailLimits
  cookies: Cookies
}

export const registerRoutes = (server: Server, { register, limits, mailLimits, cookies }: Dependencies) => {
  const options = { schema, onRequest: limits.byNetwork, config: { countsIn: ['network_mails'] as const } }
  server.post('/api/auth/register', options, async (request, reply) => {
    const mayMail = () => mailLimits.mayMailStranger(request)
    const earlier = cookies.read(request, 'registration')
    const result = await register({ ...request.body, earlier }, clientOf(request), mayMail)
    if (isRefused(result)) return sendRefusal(reply, result)
    cookies.set(reply, 'registration', result.browserToken)
    return reply.status(202).send(accepted)
  })
}
