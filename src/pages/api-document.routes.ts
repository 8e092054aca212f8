import { fastify, type RouteOptions } from 'fastify'
import { factsOf, type RouteFacts, route } from '../http/route.js'
import { compileSchemasWhenNeeded } from '../http/schema-compilers.js'
import type { Server } from '../http/server.js'
import type { Design } from '../lib/design.js'
import {
  codesOfGuards,
  completeDocument,
  completeResponses,
  needsOf,
  operationId,
  type Responses,
  refusalsOf,
  type Security,
  securityOf,
  webhookOperations,
} from './complete-document.js'
import type { ReferenceDocument } from './reference-page.js'

type Json = { [key: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A plain type or null, as OpenAPI 3.1 writes it. */
const nullable = (schema: Json): Json => {
  const { anyOf, ...rest } = schema
  const [value, other, ...furtherTypes] = Array.isArray(anyOf) ? (anyOf as Json[]) : []
  if (typeof value?.type !== 'string' || 'enum' in value || other?.type !== 'null' || furtherTypes.length > 0)
    return schema
  return { ...value, ...rest, type: [value.type, 'null'] }
}

/** Moves each schema with a title to the named schemas, where it stands once. References take its place. */
export const withNamedSchemas = <Document extends object>(document: Document) => {
  const schemas: Json = {}

  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit)
    if (!isObject(value)) return value
    const { title, ...rest } = value
    const visited = nullable(Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, visit(each)])))
    // A property may be called `title`; then it holds a schema and not a name.
    if (typeof title !== 'string') return title === undefined ? visited : { title: visit(title), ...visited }
    schemas[title] ??= visited
    return { $ref: `#/components/schemas/${title}` }
  }

  const paths = 'paths' in document ? visit(document.paths) : {}
  const webhooks = 'webhooks' in document ? { webhooks: visit(document.webhooks) } : {}
  const components = 'components' in document && isObject(document.components) ? document.components : {}
  const sorted = Object.fromEntries(Object.entries(schemas).sort(([left], [right]) => (left < right ? -1 : 1)))
  return { ...document, components: { ...components, schemas: sorted }, paths, ...webhooks }
}

const document = {
  openapi: '3.1.0',
  info: {
    title: 'Latchkey',
    version: '1',
    description: `A self-hosted authentication service. Tokens travel in cookies that no script can read.

**Refusals** have a body of \`error\`, \`message\` and \`code\`. The code is stable. A 429 has no code: its \`error\` tells which limit it was. The codes of each answer are in its description; \`default\` has those that any request can get (\`unknown_host\` outside production only, \`https_required\` from a proxy).

**Headers**: every answer has X-Request-Id, the id of the request in the log; access checks and probes only if they are refused. The answers of an operation with a limiter have the RateLimit headers of 429.

**Changes** (POST, PATCH, DELETE) take JSON of at most 16 KB, from our own pages only. Most need the header X-CSRF-Token.

**CORS**: pages of the sites in ALLOWED_ORIGINS may use \`/api/auth/\` with credentials. They may send Content-Type and X-CSRF-Token, and read Retry-After, X-Request-Id and RateLimit headers. Without that setting, no other site may.`,
    contact: { name: 'The operator of this installation' },
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/', description: 'PUBLIC_URL of the installation' }],
  components: {
    securitySchemes: {
      accessToken: { type: 'apiKey', in: 'cookie', name: 'access_token', description: 'Set by every sign-in' },
      refreshToken: { type: 'apiKey', in: 'cookie', name: 'refresh_token', description: 'Set by every sign-in' },
      challenge: {
        type: 'apiKey',
        in: 'cookie',
        name: 'challenge',
        description: 'Set by a sign-in that is not finished',
      },
      csrfToken: {
        type: 'apiKey',
        in: 'header',
        name: 'X-CSRF-Token',
        description: 'From GET /api/auth/csrf-token, which also sets the cookie that it belongs to',
      },
      serviceKey: { type: 'http', scheme: 'bearer', description: 'From latchkey service-key add NAME' },
    },
  },
} as const

/** Descriptions of the groups of operations. */
const tags = {
  'sign in': 'A username or an email, and a password.',
  registration: 'A new account, and the proof of its email address.',
  'reset password': 'A new password by mail.',
  account: "Changes to the caller's account.",
  'social sign-in': 'Sign in with a provider.',
  'linked providers': "The providers of the caller's account.",
  factors: "Two-step sign-in, recovery codes, trusted devices and passkeys of the caller's account.",
  'step-up': 'Prove again who you are, before a sensitive change.',
  undo: 'Take back a change of the email, a new factor or a new provider, with the link from the mail about it.',
  sessions: 'Renew, list and end sessions.',
  'who am I': 'The caller, for applications and proxies.',
  applications: 'Sign in with Latchkey (OpenID Connect): what applications ask for.',
  events: "What happened to the caller's account.",
  passwords: 'How strong a password is.',
  'request forgery': 'The token that changes need.',
  content: 'Texts for signed-in users.',
  administrators:
    'For members of the group of administrators and of `SUPPORT_GROUP`. Others get 404. Not there with an empty `ADMIN_GROUP`.',
  'for other programs': 'With a service key, from your own network: proxies do not pass these on.',
  health: 'For load balancers and monitoring.',
}

/**
 * The library collects routes while they are registered, so it gets a server of its own, to which the routes are added again
 * without their handlers. It is loaded and does its work when the document is first asked for.
 */
const createDocument = async (routes: readonly RouteOptions[]) => {
  const { default: swagger } = await import('@fastify/swagger')
  const server = fastify({ exposeHeadRoutes: false })
  compileSchemasWhenNeeded(server)
  const facts = new Map<string, RouteFacts>()
  await server.register(swagger, {
    openapi: { ...document, servers: [...document.servers] },
    transform: ({ schema, url, route }) => {
      if (schema?.hide) return { schema, url }
      const id = operationId(route)
      const routeFacts = factsOf(route)
      facts.set(id, routeFacts)
      const response = completeResponses((schema?.response ?? {}) as Responses, routeFacts)
      const body = routeFacts.serviceScope && schema?.body && { ...schema.body, additionalProperties: false }
      const answers = { security: securityOf(routeFacts), operationId: id, ...schema, response }
      return { schema: body ? { ...answers, body } : answers, url }
    },
  })
  for (const { method, url, schema = {}, onRequest = [], preHandler = [], config = {} } of routes)
    server.route({ method, url, schema, onRequest, preHandler, config, handler: () => undefined })
  await server.ready()
  const collected = { ...server.swagger(), webhooks: webhookOperations() }
  return completeDocument(withNamedSchemas(collected), facts, tags)
}

type RouteSchema = {
  tags?: readonly string[]
  summary?: string
  security?: Security
  hide?: boolean
  response?: unknown
}

/** A line for each route, in the order of their registration, for docs/api.md and for the test that walks over all of them. */
const listRoutes = (routes: readonly RouteOptions[]) =>
  routes.map((route) => {
    const facts = factsOf(route)
    const {
      tags = [],
      summary = '',
      security = securityOf(facts),
      hide = false,
      response,
    }: RouteSchema = {
      ...route.schema,
    }
    return {
      ...facts,
      tag: tags[0] ?? '',
      summary,
      isHidden: hide,
      needs: needsOf(facts, security),
      refusals: refusalsOf((response ?? {}) as Responses),
      guardRefusals: codesOfGuards(facts),
    }
  })

export type ListedRoute = ReturnType<typeof listRoutes>[number]

/** Without a file of service keys, the requests of other programs are not in the document: no program could send them. */
type Options = { design: Design; hasServiceKeys: boolean }

/**
 * Must be registered before the other routes, because the document describes those that are registered after it. The page shows the same
 * document for people.
 */
export const apiDocumentRoutes = (server: Server, { design, hasServiceKeys }: Options) => {
  const routes: RouteOptions[] = []
  server.addHook('onRoute', (route) => {
    if (route.method !== 'HEAD') routes.push(route)
  })
  let documentPromise: ReturnType<typeof createDocument> | undefined
  const getDocument = () => {
    const isShown = (route: RouteOptions) => hasServiceKeys || factsOf(route).serviceScope === undefined
    documentPromise ??= createDocument(routes.filter(isShown))
    return documentPromise
  }
  let text: Promise<Buffer> | undefined
  let page: Promise<Buffer> | undefined
  const renderPage = async () => {
    const { renderReference } = await import('./reference-page.js')
    return Buffer.from(renderReference((await getDocument()) as unknown as ReferenceDocument, design))
  }
  const made = {
    hidden: true,
    guard: [],
    refuses: [],
    answers: {},
    config: { unlimited: 'Made once, and sent from memory' },
  } as const
  route(server, 'GET /api/openapi.json', {
    ...made,
    handle: async ({ reply }) => {
      text ??= getDocument().then((apiDocument) => Buffer.from(JSON.stringify(apiDocument)))
      return reply.type('application/json; charset=utf-8').send(await text)
    },
  })
  route(server, 'GET /api/docs', {
    ...made,
    handle: async ({ reply }) => {
      page ??= renderPage()
      return reply.type('text/html; charset=utf-8').send(await page)
    },
  })
  return { list: () => listRoutes(routes) }
}
