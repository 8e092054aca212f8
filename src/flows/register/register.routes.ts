import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { languageFrom } from '../../domain/mails/languages.js'
import { type Cookies, registrationCookie } from '../../http/cookies.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { PasswordRejected, sendPasswordRejected } from '../../http/responses.js'
import type { Server } from '../../http/server.js'
import type { createRegister } from './register.js'

/** One body for everybody: it does not tell whether the address has an account. */
const accepted = { message: 'Check your mail to finish the registration' }

const schema = {
  tags: ['registration'],
  summary: 'Ask for an account; it comes into being when the address is proven',
  body: Type.Object({
    username: Type.String({ minLength: 1, maxLength: 256 }),
    email: Type.String({ minLength: 3, maxLength: 254 }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
    name: Type.Optional(Type.String({ maxLength: 200 })),
  }),
  response: {
    202: Type.Object({ message: Type.String() }),
    400: ErrorBody,
    403: ErrorBody,
    409: ErrorBody,
    422: PasswordRejected,
    429: ErrorBody,
    503: ErrorBody,
  },
}

type Dependencies = { register: ReturnType<typeof createRegister>; isOpen: boolean; limits: Limits; cookies: Cookies }

export const registerRoutes = (server: Server, { register, isOpen, limits, cookies }: Dependencies) => {
  server.post('/api/auth/register', { schema, onRequest: limits.open }, async (request, reply) => {
    if (!isOpen) return sendRefusal(reply, refuse('registration_closed'))
    const result = await register(request.body, languageFrom(request.headers['accept-language']))
    if ('rejected' in result) return sendPasswordRejected(reply, result.rejected)
    if ('refused' in result) return sendRefusal(reply, result)
    const { name, maxAge } = registrationCookie
    cookies.set(reply, name, result.browser, { sameSite: 'Strict', maxAge })
    return reply.status(202).send(accepted)
  })
}
