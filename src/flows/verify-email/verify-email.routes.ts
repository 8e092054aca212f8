import { Type } from 'typebox'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import { type Answer, answers, ErrorBody, sendAnswer } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { registrationCookie } from '../../http/registration-cookie.js'
import type { Server } from '../../http/server.js'
import { SignedIn, sendSignedIn } from '../../http/signed-in.js'
import type { createVerifyEmail, VerifyEmailRefusal } from './verify-email.js'

const refusals: Record<VerifyEmailRefusal, Answer> = {
  invalid_link: answers.invalidLink,
  invalid_code: {
    status: 400,
    error: 'Invalid code',
    message: 'This code does not work. Check it, or use the link in the mail.',
  },
  password_required: { status: 401, error: 'Password required', message: 'Enter the password that you chose' },
  invalid_credentials: { ...answers.invalidCredentials, message: 'That is not the password that was chosen' },
  email_taken: { status: 409, error: 'Already registered', message: 'This address has an account. Sign in.' },
  username_taken: {
    status: 409,
    error: 'Username taken',
    message: 'Somebody took this username meanwhile. Register with another.',
  },
  busy: answers.busy,
}

const schema = {
  tags: ['registration'],
  summary:
    'Prove the address: by the link in the browser that registered, by the link and the password, or by the code',
  body: Type.Object({
    token: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
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

type Deps = { verifyEmail: ReturnType<typeof createVerifyEmail>; limits: Limits; cookies: Cookies }

export const verifyEmailRoutes = (server: Server, { verifyEmail, limits, cookies }: Deps) => {
  server.post('/api/auth/verify-email', { schema, onRequest: limits.open }, async (request, reply) => {
    const browser = cookies.read(request, registrationCookie.name)
    const result = await verifyEmail(request.body, browser, clientOf(request))
    if ('refused' in result) return sendAnswer(reply, refusals[result.refused])
    cookies.clear(reply, registrationCookie.name, { sameSite: 'Strict' })
    return sendSignedIn(reply, cookies, result)
  })
}
