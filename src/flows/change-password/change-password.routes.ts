import { Type } from 'typebox'
import { languageFrom } from '../../domain/mails/languages.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import type { Csrf } from '../../http/csrf.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import { type Limits, LoginLimited } from '../../http/limits.js'
import { NoContent, PasswordRejected, sendPasswordRejected } from '../../http/responses.js'
import type { Server } from '../../http/server.js'
import type { createChangePassword } from './change-password.js'

const schema = {
  tags: ['account'],
  summary: "Change the caller's password; ends the other sessions and sets new tokens for this one",
  body: Type.Object({
    currentPassword: Type.String({ minLength: 1, maxLength: 1024 }),
    newPassword: Type.String({ minLength: 1, maxLength: 1024 }),
  }),
  response: {
    204: NoContent,
    400: ErrorBody,
    401: ErrorBody,
    403: ErrorBody,
    422: PasswordRejected,
    429: LoginLimited,
    503: ErrorBody,
  },
}

type Dependencies = {
  changePassword: ReturnType<typeof createChangePassword>
  callers: Callers
  cookies: Cookies
  csrf: Csrf
  limits: Limits
}

export const changePasswordRoutes = (
  server: Server,
  { changePassword, callers, cookies, csrf, limits }: Dependencies,
) => {
  const options = { schema, onRequest: [callers.required, csrf.required, limits.login], onSend: limits.settle }
  server.post('/api/auth/change-password', options, async (request, reply) => {
    const language = languageFrom(request.headers['accept-language'])
    const result = await changePassword({ caller: callers.of(request), ...request.body }, clientOf(request), language)
    if ('rejected' in result) return sendPasswordRejected(reply, result.rejected)
    if ('refused' in result) return sendRefusal(reply, result)
    cookies.renewSession(reply, result)
    return reply.status(204).send()
  })
}
