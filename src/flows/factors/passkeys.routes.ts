import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { languageFrom } from '../../contract/languages.js'
import { isRefused } from '../../contract/outcome.js'
import { longestPasskeyName, PasskeyCreationOptions, PasskeyCredential } from '../../contract/passkeys.js'
import { NoContent, Passkey } from '../../contract/schemas.js'
import { clientDataOf } from '../../domain/passkeys/verification.js'
import type { Callers } from '../../http/caller.js'
import type { CeremonyCookies } from '../../http/ceremony-cookies.js'
import { clientOf } from '../../http/client.js'
import type { Csrf } from '../../http/csrf.js'
import type { Freshness } from '../../http/freshness.js'
import type { Limits } from '../../http/limits.js'
import { withHeaders } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import { uuidPattern } from '../../lib/uuid.js'
import type { createOwnPasskeys } from './passkeys.js'

const gates = ['not_authenticated', 'invalid_csrf_token', 'cross_site', 'too_many_requests', 'unavailable'] as const
const fresh = [...gates, 'fresh_sign_in_required'] as const

const beginRefusals = routeRefusals(...fresh)
const addRefusals = routeRefusals(...fresh, 'bad_request', 'passkey_rejected', 'too_many_passkeys')
const renameRefusals = routeRefusals(...gates, 'bad_request', 'not_found')
const removeRefusals = routeRefusals(...fresh, 'bad_request', 'not_found', 'last_way_in')

const tags = ['factors']
const name = Type.String({ minLength: 1, maxLength: longestPasskeyName })
const params = Type.Object({ id: Type.String({ pattern: uuidPattern }) })
const schemas = {
  begin: {
    tags,
    summary: 'Begin to add a passkey; answer the challenge within 5 minutes',
    response: {
      200: withHeaders(PasskeyCreationOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }),
      ...beginRefusals.responses,
    },
  },
  add: {
    tags,
    summary: 'Add a passkey',
    body: Type.Object({ credential: PasskeyCredential, name: Type.Optional(name) }),
    response: { 201: Passkey, ...addRefusals.responses },
  },
  rename: {
    tags,
    summary: 'Give a passkey another name',
    params,
    body: Type.Object({ name }),
    response: { 200: Passkey, ...renameRefusals.responses },
  },
  remove: {
    tags,
    summary: 'Remove a passkey, unless it is the last way in; ends the other sessions',
    params,
    response: { 204: NoContent, ...removeRefusals.responses },
  },
}

type Dependencies = {
  ownPasskeys: ReturnType<typeof createOwnPasskeys>
  ceremonyCookies: CeremonyCookies
  callers: Callers
  csrf: Csrf
  limits: Limits
  freshness: Freshness
}

export const passkeysRoutes = (server: Server, deps: Dependencies) => {
  const { ownPasskeys, ceremonyCookies, callers, csrf, limits, freshness } = deps
  const path = '/api/auth/passkeys'
  const changing = [callers.required, csrf.required, limits.bySession]
  const sensitive = [...changing, freshness.required]
  const requestOf = (request: FastifyRequest) => ({
    caller: callers.of(request),
    client: clientOf(request),
    language: languageFrom(request.headers['accept-language']),
  })

  server.post(`${path}/options`, { schema: schemas.begin, onRequest: sensitive }, async (request, reply) => {
    const begun = await ownPasskeys.begin(callers.of(request))
    if (isRefused(begun)) return beginRefusals.sendRefusal(reply, begun)
    ceremonyCookies.keep(request, reply, begun.ceremony)
    return reply.send(begun.options)
  })

  server.post(path, { schema: schemas.add, onRequest: sensitive }, async (request, reply) => {
    const { credential, name: given } = request.body
    const kept = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
    const added = await ownPasskeys.add({ credential, kept, name: given }, requestOf(request))
    return isRefused(added) ? addRefusals.sendRefusal(reply, added) : reply.status(201).send(added)
  })

  server.patch(`${path}/:id`, { schema: schemas.rename, onRequest: changing }, async (request, reply) => {
    const renamed = await ownPasskeys.rename(request.params.id, request.body.name, requestOf(request))
    return isRefused(renamed) ? renameRefusals.sendRefusal(reply, renamed) : reply.send(renamed)
  })

  server.delete(`${path}/:id`, { schema: schemas.remove, onRequest: sensitive }, async (request, reply) => {
    const removed = await ownPasskeys.remove(request.params.id, requestOf(request))
    return isRefused(removed) ? removeRefusals.sendRefusal(reply, removed) : reply.status(204).send()
  })
}
