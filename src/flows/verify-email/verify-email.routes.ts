import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { languageFrom } from '../../domain/mails/languages.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import { atLeast, equalTime } from '../../http/at-least.js'
import { clientOf } from '../../http/client.js'
import { type Cookies, registrationCookie } from '../../http/cookies.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { SignedIn, sendSignedIn } from '../../http/responses.js'
import type { Server } from '../../http/server.js'
import type { createVerifyEmail } from './verify-email.js'

/** One body for everybody: it tells neither whether the address has an account nor whether it has had enough mails. */
const sent = { message: 'A mail is on its way' }

const token = Type.String({ minLength: 1, maxLength: 128 })

const schema = {
  tags: ['registration'],
  summary:
    'Prove the address: by the link in the browser that registered, by the link and the password, or by the code',
  body: Type.Object({
    token: Type.Optional(token),
    code: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  }),
  response: {
    200: SignedIn,
    400: ErrorBody,
    401: ErrorBody,
    403: ErrorBody,
    409: ErrorBody,
    429: ErrorBody,
    503: ErrorBody,
  },
}

const checkSchema = {
  tags: ['registration'],
  summary: 'How it stands with a mailed link or, without one, with the registration that this browser began',
  body: Type.Object({ token: Type.Optional(token) }),
  response: {
    200: Type.Object({
      state: Type.Union([
        Type.Literal('waiting'),
        Type.Literal('confirmed'),
        Type.Literal('replaced'),
        Type.Literal('unknown'),
      ]),
      passwordRequired: Type.Boolean(),
      newerMail: Type.Boolean(),
    }),
    400: ErrorBody,
    403: ErrorBody,
    429: ErrorBody,
    503: ErrorBody,
  },
}
const resendSchema = {
  tags: ['registration'],
  summary: 'Send the mail of the registration that this browser began once more, with a new link',
  response: {
    202: Type.Object({ message: Type.String() }),
    400: ErrorBody,
    403: ErrorBody,
    409: ErrorBody,
    429: ErrorBody,
    503: ErrorBody,
  },
}

type Dependencies = {
  verifyEmail: ReturnType<typeof createVerifyEmail>
  registrations: Registrations
  limits: Limits
  cookies: Cookies
}

export const verifyEmailRoutes = (server: Server, { verifyEmail, registrations, limits, cookies }: Dependencies) => {
  const onRequest = limits.open
  server.post('/api/auth/verify-email/check', { schema: checkSchema, onRequest }, async (request) => {
    const browser = cookies.read(request, registrationCookie.name)
    if (request.body.token !== undefined) return registrations.lookAtLink(request.body.token, browser)
    return { state: await registrations.stateForBrowser(browser), passwordRequired: false, newerMail: false }
  })

  server.post('/api/auth/verify-email/resend', { schema: resendSchema, onRequest }, async (request, reply) => {
    const browser = cookies.read(request, registrationCookie.name)
    const language = languageFrom(request.headers['accept-language'])
    const result = await atLeast(equalTime, registrations.sendAgainToBrowser(browser, language))
    return isRefused(result) ? sendRefusal(reply, result) : reply.status(202).send(sent)
  })

  server.post('/api/auth/verify-email', { schema, onRequest }, async (request, reply) => {
    const browser = cookies.read(request, registrationCookie.name)
    const result = await verifyEmail(request.body, browser, clientOf(request))
    if (isRefused(result)) return sendRefusal(reply, result)
    cookies.clear(reply, registrationCookie.name, { sameSite: 'Strict' })
    return sendSignedIn(reply, cookies, result)
  })
}
