import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import type { PublishedKey } from '../../domain/application-keys/key-pair.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import { StoreUnavailable } from '../../platform/database/database.js'
import { DiscoveryDocument, discoveryDocument } from './discovery-document.js'

const { responses, sendRefusal } = routeRefusals('not_found')

const Unavailable = Type.Object({ error: Type.String(), error_description: Type.String() })
const unavailable = {
  error: 'temporarily_unavailable',
  error_description: 'The keys cannot be read at the moment. Try again in a few seconds.',
}

const Key = Type.Object({
  kty: Type.String(),
  kid: Type.String(),
  alg: Type.String(),
  use: Type.Literal('sig'),
  n: Type.Optional(Type.String()),
  e: Type.Optional(Type.String()),
  crv: Type.Optional(Type.String()),
  x: Type.Optional(Type.String()),
  y: Type.Optional(Type.String()),
})

const configurationSchema = {
  tags: ['applications'],
  summary: 'What applications can ask for when they sign their users in here (OpenID Connect Discovery)',
  description: 'Unknown (404) while there is no application.',
  response: { 200: DiscoveryDocument, ...responses, 503: Unavailable },
}

const keysSchema = {
  tags: ['applications'],
  summary: 'The public keys of ID tokens and logout tokens',
  description:
    'A key is here for 24 hours before it signs and for 24 hours after its last token, but for the first one of an algorithm. Unknown (404) while there is no application.',
  response: {
    200: Type.Object({ keys: Type.Array(Key) }, { title: 'ApplicationKeySet' }),
    ...responses,
    503: Unavailable,
  },
}

type Opened = { loadedApplicationKeys: { published(): Promise<{ keys: PublishedKey[] }> } }
type Dependencies = { openidProvider: { open(): Promise<Opened | undefined> }; issuer: string }

/** Any page may read it, and no cookie changes it. Minutes: a first key, which nobody could know before, is found by then. */
const asPublic = (reply: FastifyReply) =>
  reply.removeHeader('Access-Control-Allow-Credentials').headers({
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': 'public, max-age=300',
  })

/** Both answers come from memory once the provider is open. */
export const openidDiscoveryRoutes = (server: Server, { openidProvider, issuer }: Dependencies) => {
  const config = { quiet: true, unlimited: 'Sent from memory' }
  const document = discoveryDocument(issuer)

  const unlessAway = async <Result>(work: () => Promise<Result>) => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof StoreUnavailable) return undefined
      throw error
    }
  }

  server.get(
    '/api/auth/.well-known/openid-configuration',
    { schema: configurationSchema, config },
    async (_, reply) => {
      const found = await unlessAway(async () => ({ opened: await openidProvider.open() }))
      if (!found) return reply.status(503).header('Retry-After', 5).send(unavailable)
      if (!found.opened) return sendRefusal(reply, refuse('not_found'))
      return asPublic(reply).send(document)
    },
  )

  server.get('/api/auth/keys', { schema: keysSchema, config }, async (_, reply) => {
    const found = await unlessAway(async () => {
      const opened = await openidProvider.open()
      return { keySet: await opened?.loadedApplicationKeys.published() }
    })
    if (!found) return reply.status(503).header('Retry-After', 5).send(unavailable)
    if (!found.keySet) return sendRefusal(reply, refuse('not_found'))
    return asPublic(reply).send(found.keySet)
  })
}
