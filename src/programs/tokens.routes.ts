import { ServiceTokenBody, ServiceTokenState } from '../contract/service.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Authorizations } from '../openid/token/authorizations.js'
import type { Guards } from '../sessions/guards.js'
import { serviceRefusals } from './service-callers.js'

const { responses } = routeRefusals('bad_request', ...serviceRefusals)

const schema = {
  tags: ['for other programs'],
  summary:
    'Check an access token that an application has sent you, and find its user; for programs that native applications call',
  body: ServiceTokenBody,
  response: { 200: ServiceTokenState, ...responses },
}

type Nouns = { authorizations: Pick<Authorizations, 'holderOf'> }

type Dependencies = {
  guards: Guards
  openidProvider: { open(): Promise<Nouns | undefined> }
  publicUrl: string
}

/** Token introspection (RFC 7662). The answer about a token that is not valid is `active: false` alone. */
export const tokensRoutes = (server: Server, { guards, openidProvider, publicUrl }: Dependencies) => {
  const onRequest = guards.service('tokens:read')
  server.post('/api/service/token', { schema, onRequest }, async (request): Promise<ServiceTokenState> => {
    const nouns = await openidProvider.open()
    const holder = await nouns?.authorizations.holderOf(request.body.token)
    if (!holder) return { active: false }
    const { applicationId: application, scopes, claims } = holder
    return {
      active: true,
      application,
      scope: scopes.join(' '),
      claims: { ...claims, sub: claims.userId, iss: publicUrl, aud: publicUrl },
    }
  })
}
