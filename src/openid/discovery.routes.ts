import type { FastifyReply } from 'fastify'
import { type Static, Type } from 'typebox'
import { applicationIssuer } from '../applications/applications.js'
import { languages } from '../contract/languages.js'
import { openidPrompts } from '../contract/openid.js'
import { refuse } from '../contract/outcome.js'
import { ProtocolErrorBody } from '../http/errors.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { keyAlgorithms } from '../keys/key-pair.js'
import type { App } from '../service/open-http.js'
import { acrLevels } from './authorize/request-steps.js'
import { grantTypes } from './token/grant-table.js'
import { supportedScopes, userClaims } from './token/user-claims.js'

const Texts = Type.Array(Type.String())

export const DiscoveryDocument = Type.Object(
  {
    issuer: Type.String(),
    authorization_endpoint: Type.String(),
    token_endpoint: Type.String(),
    userinfo_endpoint: Type.String(),
    jwks_uri: Type.String(),
    revocation_endpoint: Type.String(),
    device_authorization_endpoint: Type.String(),
    end_session_endpoint: Type.String(),
    scopes_supported: Texts,
    response_types_supported: Texts,
    response_modes_supported: Texts,
    grant_types_supported: Texts,
    subject_types_supported: Texts,
    acr_values_supported: Texts,
    id_token_signing_alg_values_supported: Texts,
    token_endpoint_auth_methods_supported: Texts,
    revocation_endpoint_auth_methods_supported: Texts,
    code_challenge_methods_supported: Texts,
    claim_types_supported: Texts,
    claims_supported: Texts,
    prompt_values_supported: Texts,
    ui_locales_supported: Texts,
    claims_parameter_supported: Type.Boolean(),
    request_parameter_supported: Type.Boolean(),
    request_uri_parameter_supported: Type.Boolean(),
    authorization_response_iss_parameter_supported: Type.Boolean(),
    backchannel_logout_supported: Type.Boolean(),
    backchannel_logout_session_supported: Type.Boolean(),
    client_id_metadata_document_supported: Type.Boolean(),
  },
  { title: 'OpenIdConfiguration' },
)

const clientAuthentication = ['client_secret_basic', 'client_secret_post', 'none']
const protocolClaims = ['iss', 'aud', 'sub', 'sid', 'iat', 'exp', 'auth_time', 'acr', 'amr', 'nonce', 'at_hash']

/** `fields` is the name of a scope and of a claim. Without PROFILE_FIELDS_FILE both are empty, so they are not offered. */
const offered = (names: readonly string[], hasFields: boolean) => names.filter((name) => hasFields || name !== 'fields')

/**
 * The document from which applications learn what they can ask for (OpenID Connect Discovery 1.0, 3; RFC 8414, 2). A missing property
 * has a default in these standards, so the document also says what is not supported.
 */
const discoveryDocument = (
  issuer: string,
  { hasFields, takesDocuments }: { hasFields: boolean; takesDocuments: boolean },
): Static<typeof DiscoveryDocument> => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  userinfo_endpoint: `${issuer}/userinfo`,
  jwks_uri: `${issuer}/keys`,
  revocation_endpoint: `${issuer}/revoke`,
  device_authorization_endpoint: `${issuer}/device`,
  end_session_endpoint: `${issuer}/end-session`,
  scopes_supported: offered(supportedScopes, hasFields),
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: [...grantTypes],
  subject_types_supported: ['public'],
  // The levels are one factor and two factors.
  acr_values_supported: [...acrLevels],
  id_token_signing_alg_values_supported: [...keyAlgorithms],
  token_endpoint_auth_methods_supported: clientAuthentication,
  revocation_endpoint_auth_methods_supported: clientAuthentication,
  code_challenge_methods_supported: ['S256'],
  claim_types_supported: ['normal'],
  claims_supported: offered([...protocolClaims, ...userClaims], hasFields),
  prompt_values_supported: [...openidPrompts],
  ui_locales_supported: [...languages],
  claims_parameter_supported: true,
  request_parameter_supported: false,
  request_uri_parameter_supported: false,
  // RFC 9207: `iss` is in every answer of the authorization endpoint.
  authorization_response_iss_parameter_supported: true,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
  client_id_metadata_document_supported: takesDocuments,
})

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

/**
 * Any page may read the answer, and no cookie changes it. It is cached for minutes only, because a first key signs at once and must be
 * found soon.
 */
const asPublic = (reply: FastifyReply) =>
  reply.removeHeader('Access-Control-Allow-Credentials').headers({
    'Access-Control-Allow-Origin': '*',
    'Cache-Control': 'public, max-age=300',
  })

/** Where RFC 8414 (3.1) puts the metadata of this issuer: before its path. */
const metadataPath = '/.well-known/oauth-authorization-server/api/auth'

const preflightHeaders = {
  'Access-Control-Allow-Methods': 'GET',
  'Access-Control-Allow-Headers': '*',
  'Access-Control-Max-Age': '600',
}

/** Both answers come from memory once the provider is open. */
export const openidDiscoveryRoutes = (
  server: Server,
  { openidProvider, profileFields, config: { publicUrl, clientDocuments } }: App,
) => {
  const document = discoveryDocument(applicationIssuer(publicUrl), {
    hasFields: profileFields.definitions.length > 0,
    takesDocuments: clientDocuments.length > 0,
  })
  // Every route of the protocol is hidden in the API document, because the discovery document describes them.
  const hidden = {
    hidden: true,
    guard: [],
    refuses: ['not_found'],
    config: { quiet: true, unlimited: 'Sent from memory' },
  } as const

  const paths = ['/api/auth/.well-known/openid-configuration', metadataPath] as const
  for (const path of paths) {
    route(server, `GET ${path}`, {
      ...hidden,
      answers: { 200: DiscoveryDocument, 503: ProtocolErrorBody },
      handle: async ({ reply }) =>
        (await openidProvider.open()) ? asPublic(reply).send(document) : refuse('not_found'),
    })
    // A page that sends a header of its own, such as the version of MCP, asks first.
    route(server, `OPTIONS ${path}`, {
      ...hidden,
      answers: {},
      handle: async ({ reply }) =>
        (await openidProvider.open())
          ? asPublic(reply).headers(preflightHeaders).status(204).send()
          : refuse('not_found'),
    })
  }

  /** A key is in the set for 24 hours before it signs and for 24 hours after its last token. The first key of an algorithm signs at once. */
  route(server, 'GET /api/auth/keys', {
    ...hidden,
    answers: { 200: Type.Object({ keys: Type.Array(Key) }, { title: 'ApplicationKeySet' }), 503: ProtocolErrorBody },
    handle: async ({ reply }) => {
      const opened = await openidProvider.open()
      if (!opened) return refuse('not_found')
      const keySet = await opened.loadedApplicationKeys.published()
      return asPublic(reply).send(keySet)
    },
  })
}
