import { Type } from 'typebox'
import { renderSVG } from 'uqr'
import { isRefused } from '../contract/outcome.js'
import { NoContent, TotpBegun } from '../contract/schemas.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import type { createAppReplacement } from './app-replacement.js'

const replaceRefusals = [...guardRefusals, 'fresh_sign_in_required', 'totp_is_off'] as const
const beginRefusals = routeRefusals(...replaceRefusals)
const confirmRefusals = routeRefusals(...replaceRefusals, 'bad_request', 'wrong_second_factor', 'no_totp_begun')

const tags = ['factors']
const schemas = {
  begin: {
    tags,
    summary:
      'Begin to replace the authenticator app; the present one works until a code of the new one confirms it, within 10 minutes',
    response: { 200: TotpBegun, ...beginRefusals.responses },
  },
  confirm: {
    tags,
    summary: 'Replace the authenticator app; ends the other sessions, and the recovery codes stay valid',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64, description: 'A code of the new app' }) }),
    response: { 204: NoContent, ...confirmRefusals.responses },
  },
}

type Dependencies = { guards: Guards; appReplacement: ReturnType<typeof createAppReplacement>; callers: Callers }

export const appReplacementRoutes = (server: Server, { guards, appReplacement, callers }: Dependencies) => {
  const beginOptions = { schema: schemas.begin, onRequest: guards.sensitive }
  server.post('/api/auth/totp/new', beginOptions, async (request, reply) => {
    const totp = await appReplacement.begin(callers.of(request))
    if (isRefused(totp)) return beginRefusals.sendRefusal(reply, totp)
    return reply.send({ ...totp, qr: renderSVG(totp.uri, { border: 4 }) })
  })

  const confirmOptions = { schema: schemas.confirm, onRequest: guards.sensitive }
  server.post('/api/auth/totp/new/confirm', confirmOptions, async (request, reply) => {
    const replaced = await appReplacement.confirm(callers.contextOf(request), request.body.code)
    return confirmRefusals.answer(reply, isRefused(replaced) ? replaced : undefined, 204)
  })
}
