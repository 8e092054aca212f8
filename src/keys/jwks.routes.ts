import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'

const PublishedKey = Type.Object({
  kty: Type.Literal('EC'),
  crv: Type.Literal('P-256'),
  x: Type.String(),
  y: Type.String(),
  kid: Type.String(),
  alg: Type.Literal('ES256'),
  use: Type.Literal('sig'),
})

/** The answer is made when the keys are read, so a request asks no store while there are keys. */
export const jwksRoutes = (server: Server, { loadedKeys }: App) => {
  route(server, 'GET /.well-known/jwks.json', {
    guard: [],
    tag: 'who am I',
    summary: 'The public keys of access tokens, for programs that check tokens themselves',
    description:
      'With `ACCESS_TOKEN_ALGORITHM=ES256`. A key is here at least 20 minutes before it signs, and until its last token has expired.',
    refuses: ['unavailable'],
    answers: { 200: Type.Object({ keys: Type.Array(PublishedKey) }, { title: 'KeySet' }) },
    config: { quiet: true, unlimited: 'Sent from memory' },
    handle: async ({ reply }) => {
      const published = await loadedKeys.published()
      // Without keys the answer is a refusal, because caches would keep an empty set.
      if (published === undefined) return refuse('unavailable')
      reply.header('cache-control', 'public, max-age=300')
      return { keys: published }
    },
  })
}
