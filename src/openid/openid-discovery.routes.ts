import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { ProtocolErrorBody } from '../http/errors.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { PublishedKey } from '../keys/application-key-pair.js'
import type { ProfileFields } from '../users/profile-fields.js'
import { DiscoveryDocument, discoveryDocument } from './discovery-document.js'

const { responses, sendRefusal } = routeRefusals('not_found')

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

/** Every route of the protocol is hidden in the API document, because the discovery document describes them. */
const configurationSchema = {
  hide: true,
  response: { 200: DiscoveryDocument, ...responses, 503: ProtocolErrorBody },
}

/** A key is in the set for 24 hours before it signs and for 24 hours after its last token. The first key of an algorithm signs at once. */
const keysSchema = {
  hide: true,
  response: {
    200: Type.Object({ keys: Type.Array(Key) }, { title: 'ApplicationKeySet' }),
    ...responses,
    503: ProtocolErrorBody,
  },
}

type OpenedProvider = { loadedApplicationKeys: { published(): Promise<{ keys: PublishedKey[] }> } }
type Dependencies = {
  openidProvider: { open(): Promise<OpenedProvider | undefined> }
  issuer: string
  profileFields: Pick<ProfileFields, 'definitions'>
}

/**
 * Any page may read the answer, and no cookie changes it. It is cached for minutes only, because a first key signs at once and must be
 * found soon.
 */
const asPublic = (reply: FastifyReply) =>
  reply.removeHeader('Access-Control-Allow-Credentials').headers({
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': 'public, max-age=300',
  })

/** Both answers come from memory once the provider is open. */
export const openidDiscoveryRoutes = (server: Server, { openidProvider, issuer, profileFields }: Dependencies) => {
  const config = { quiet: true, unlimited: 'Sent from memory' }
  const document = discoveryDocument(issuer, profileFields.definitions.length > 0)

  server.get('/api/auth/.well-known/openid-configuration', { schema: configurationSchema, config }, async (_, reply) =>
    (await openidProvider.open()) ? asPublic(reply).send(document) : sendRefusal(reply, refuse('not_found')),
  )

  server.get('/api/auth/keys', { schema: keysSchema, config }, async (_, reply) => {
    const opened = await openidProvider.open()
    if (!opened) return sendRefusal(reply, refuse('not_found'))
    const keySet = await opened.loadedApplicationKeys.published()
    return asPublic(reply).send(keySet)
  })
}
