import type { NamesOf } from '../../option-names.js'
import { type Answer, jsonAnswer } from './answers.js'
import { type AnyRequest, headerOf } from './cookies.js'
import { refuseFaults, refuseUnknown } from './faults.js'
import { responseOf } from './fetch-responses.js'
import { createIssuerKeyRing, hasSignature } from './issuer-keys.js'
import type { NodeRequest } from './node.js'
import { type NodeResponse, sendAnswer } from './node-response.js'
import { followRevocations, startTimer } from './revocations.js'
import { readSettings, type VerifierOptions } from './settings.js'
import { readObject, splitToken } from './token-text.js'
import { createCurrentCheck } from './verifier.js'

type ServiceOptions = Pick<
  VerifierOptions,
  'publicUrl' | 'serviceUrl' | 'revocations' | 'leeway' | 'onProblem' | 'fetch' | 'now'
>

export type ResourceGuardOptions = ServiceOptions & {
  /** The address of this server, as `latchkey resource add` has it, such as `https://mcp.example.com/mcp`. */
  resource: string
  /** All scopes of the resource. A program without a token is told to ask for them. */
  scopes?: readonly string[]
  /** The scopes that every request needs. Default: none of them in particular, but one at least if there are any. */
  needs?: readonly string[]
}

const optionNames: NamesOf<ResourceGuardOptions> = {
  publicUrl: true,
  serviceUrl: true,
  revocations: true,
  leeway: true,
  onProblem: true,
  fetch: true,
  now: true,
  resource: true,
  scopes: true,
  needs: true,
}

/** Who has sent a request. The MCP SDK takes it as `AuthInfo`. */
export type ResourceAuth = {
  readonly token: string
  /** The program: its id, or the address of its document. */
  readonly clientId: string
  readonly scopes: string[]
  /** In seconds. */
  readonly expiresAt: number
  /** The id never changes. The rest is there if the program has asked for `profile`, `email` and `groups`. */
  readonly user: {
    readonly id: string
    readonly username: string | undefined
    readonly name: string | undefined
    readonly email: string | undefined
    readonly groups: readonly string[] | undefined
  }
  readonly sessionId: string
  readonly claims: Readonly<Record<string, unknown>>
  /**
   * Aborts when the token expires, and with `revocations` when its session is known to have ended: for a stream, which stays open when the
   * request was let in.
   */
  readonly signal: AbortSignal
}

/** Both alternatives have all properties, so that `if (!decision.goOn)` compiles without `strict`, too. */
export type ResourceDecision =
  | { readonly goOn: true; readonly auth: ResourceAuth; readonly response?: undefined }
  | { readonly goOn: false; readonly auth?: undefined; readonly response: Response }

type Incoming = AnyRequest & { readonly method: string; readonly path: string }
type Decision = { auth: ResourceAuth } | { answer: Answer }

/** A scope is a word that needs no quotes in a header (RFC 6749, 3.3). */
const scopeShape = /^[\w.:/-]{1,64}$/
const areScopes = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string' && scopeShape.test(each))

/** Longer than any token for a resource. */
const longestToken = 8_192
const bearerShape = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+) *$/i

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isSafeInteger(value)

const readOptions = (options: ResourceGuardOptions) => {
  refuseUnknown(options, optionNames, 'resourceGuard')
  const { resource, scopes = [], needs = [], ...service } = options
  // An undefined list may come from a missing environment variable, and would ask for less than the server needs.
  for (const name of ['scopes', 'needs'] as const)
    if (name in options && options[name] === undefined) throw new TypeError(`${name}: is undefined; leave it out`)
  refuseFaults([
    !areScopes(scopes) && 'scopes: must be a list of names',
    !areScopes(needs) && 'needs: must be a list of names',
    !needs.every((each) => scopes.includes(each)) && 'needs: must be among scopes',
    (!URL.canParse(resource) || /[?#]/.test(resource)) &&
      'resource: must be an address such as https://mcp.example.com/mcp',
  ])
  const { href, origin, pathname } = new URL(resource)
  const isWholeHost = pathname === '/'
  return {
    ...readSettings({ ...service, jwks: true }),
    // As Latchkey keeps it: a lone slash after the host makes no difference.
    resource: isWholeHost ? origin : href,
    metadataPath: `/.well-known/oauth-protected-resource${isWholeHost ? '' : pathname}`,
    origin,
    scopes: [...scopes],
    needs: [...needs],
  }
}

type Read = ReturnType<typeof readOptions>

const anyPage = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' }

/** RFC 9728, 3. Any page may read it. */
const metadataOf = ({ resource, publicUrl, scopes }: Read): Answer => ({
  status: 200,
  headers: { ...anyPage, 'cache-control': 'public, max-age=300', 'content-type': 'application/json; charset=utf-8' },
  setCookies: [],
  body: JSON.stringify({
    resource,
    authorization_servers: [`${publicUrl}/api/auth`],
    scopes_supported: scopes,
    bearer_methods_supported: ['header'],
  }),
})

const preflight: Answer = {
  status: 204,
  headers: { ...anyPage, 'access-control-allow-methods': 'GET' },
  setCookies: [],
  body: '',
}

/** RFC 6750, 3, and RFC 9728, 5.1. */
const createAnswers = ({ origin, metadataPath, scopes }: Read) => {
  const challenge = (asked: readonly string[], error?: string) => {
    const parts = [
      ...(error === undefined ? [] : [`error="${error}"`]),
      `resource_metadata="${origin}${metadataPath}"`,
      ...(asked.length > 0 ? [`scope="${asked.join(' ')}"`] : []),
    ]
    return { 'www-authenticate': `Bearer ${parts.join(', ')}` }
  }
  return {
    withoutToken: jsonAnswer('not_authenticated', challenge(scopes)),
    wrongToken: jsonAnswer('not_authenticated', challenge(scopes, 'invalid_token')),
    /** The official client asks for these scopes instead of its own, so those that it has are among them. */
    insufficient: (needed: readonly string[], has: readonly string[]): Answer => {
      const words = { error: 'Insufficient scope', message: 'This program must ask its user for more' }
      const asked = [...new Set([...has, ...needed])]
      return {
        ...jsonAnswer('group_required', challenge(asked, 'insufficient_scope')),
        body: JSON.stringify({ code: 'insufficient_scope', ...words }),
      }
    },
  }
}

const authOf = (token: string, claims: Readonly<Record<string, unknown>>) => {
  const { sub, sid, client_id: clientId, exp, scope, groups } = claims
  if (typeof sub !== 'string' || typeof sid !== 'string' || typeof clientId !== 'string') return undefined
  if (typeof scope !== 'string' || !isNumber(exp)) return undefined
  return {
    token,
    clientId,
    scopes: scope.split(' ').filter((each) => each !== ''),
    expiresAt: exp,
    user: {
      id: sub,
      username: textOf(claims.preferred_username),
      name: textOf(claims.name),
      email: textOf(claims.email),
      groups: Array.isArray(groups) ? groups.filter((each) => typeof each === 'string') : undefined,
    },
    sessionId: sid,
    claims,
  }
}

type List = ReturnType<typeof followRevocations> | undefined

/** A signal that aborts as soon as the token is refused. Whoever never asks for it has no timer. */
const createSignal = (isRefused: () => boolean, expiresIn: number, list: List) => {
  const over = new AbortController()
  const end = () => {
    list?.listeners.delete(look)
    over.abort()
  }
  const look = () => isRefused() && end()
  list?.listeners.add(look)
  startTimer(end, expiresIn)
  look()
  return over.signal
}

/** Checks a signed token (RFC 9068, 4). */
const createCheck = (read: Read, list: List) => {
  const { resource, publicUrl, serviceUrl, fetch, now, onProblem } = read
  const findKey = createIssuerKeyRing({ url: `${serviceUrl}/api/auth/keys`, fetch, now, onProblem })
  const refusalNow = createCurrentCheck(read, list)

  return async (token: string): Promise<ResourceAuth | 'invalid' | 'unavailable'> => {
    const parts = splitToken(token, longestToken)
    const { alg, typ, kid, ...more } = (parts && readObject(parts.header)) ?? {}
    if (!parts || typ !== 'at+jwt' || typeof kid !== 'string' || Object.keys(more).length > 0) return 'invalid'
    const key = await findKey(kid)
    if (key === 'unavailable') return key
    if (!key || key.alg !== alg || !(await hasSignature(key, parts))) return 'invalid'
    const claims = readObject(parts.payload)
    if (!claims || claims.iss !== `${publicUrl}/api/auth` || claims.aud !== resource) return 'invalid'
    const auth = authOf(token, claims)
    const { iat, exp, gen } = claims
    if (!auth || !isNumber(iat) || !isNumber(exp) || !isNumber(gen)) return 'invalid'
    const facts = { iat, exp, gen, sid: auth.sessionId, userId: auth.user.id }
    const refusal = refusalNow(facts)
    if (refusal === 'unavailable') return refusal
    if (refusal) return 'invalid'
    let signal: AbortSignal | undefined
    const isOver = () => exp * 1_000 <= now() || list?.refusesToken(facts) === true
    return {
      ...auth,
      get signal() {
        signal ??= createSignal(isOver, exp * 1_000 - now(), list)
        return signal
      },
    }
  }
}

/** Decides about one request: its user and program, or the answer that it gets instead. */
const createDecide = (read: Read, check: ReturnType<typeof createCheck>) => {
  const answers = createAnswers(read)
  const metadata = metadataOf(read)
  const { metadataPath, scopes } = read

  return async (request: Incoming, needs: readonly string[]): Promise<Decision> => {
    const [path] = request.path.split('?', 1)
    if (path === metadataPath && request.method === 'OPTIONS') return { answer: preflight }
    if (path === metadataPath) return { answer: metadata }
    const authorization = headerOf(request, 'authorization')
    if (authorization === undefined) return { answer: answers.withoutToken }
    const [, token] = bearerShape.exec(authorization) ?? []
    const auth = token === undefined ? 'invalid' : await check(token)
    if (auth === 'unavailable') return { answer: jsonAnswer('unavailable') }
    if (auth === 'invalid') return { answer: answers.wrongToken }
    const hasAny = scopes.length === 0 || scopes.some((each) => auth.scopes.includes(each))
    const hasAll = needs.every((each) => auth.scopes.includes(each))
    return hasAny && hasAll ? { auth } : { answer: answers.insufficient(hasAny ? needs : scopes, auth.scopes) }
  }
}

const auths = new WeakMap<object, ResourceAuth>()

/** The user and the program of a request that a resource guard has let through, by the framework's object for it. */
export const resourceAuthOf = (request: object): ResourceAuth => {
  const auth = auths.get(request)
  if (!auth) throw new Error('No resource guard of @latchkey/verify has let this request through')
  return auth
}

type ExpressRequest = NodeRequest & { readonly originalUrl?: string }
type HonoContext = { readonly req: { readonly raw: Request } }
type FastifyRequest = {
  readonly method: string
  readonly originalUrl: string
  readonly headers: NodeRequest['headers']
}
type FastifyReply = {
  status(code: number): unknown
  header(name: string, value: unknown): unknown
  send(body?: unknown): unknown
}

type Decide = (request: Incoming) => Promise<Decision>

/** The same guard in the words of each framework. */
const createAdapters = (decide: Decide) => {
  const ofFetch = async (request: Request): Promise<ResourceDecision> => {
    const { pathname, search } = new URL(request.url)
    const decision = await decide({ method: request.method, path: pathname + search, headers: request.headers })
    if ('answer' in decision) return { goOn: false, response: responseOf(decision.answer) }
    auths.set(request, decision.auth)
    return { goOn: true, auth: decision.auth }
  }

  return {
    /** For everything that takes a `Request` and gives a `Response`. */
    fetch: ofFetch,

    /** For node:http. If `goOn` is false, the guard has answered. */
    node: async (request: ExpressRequest, response: NodeResponse) => {
      const { method = 'GET', url = '/', originalUrl: path = url, headers } = request
      const decision = await decide({ method, path, headers })
      if ('answer' in decision) {
        sendAnswer(response, decision.answer)
        return { goOn: false } as const
      }
      auths.set(request, decision.auth)
      return { goOn: true, auth: decision.auth } as const
    },

    /** `app.use(guard.express)`, then `resourceAuthOf(request)` in a handler. */
    express: (request: ExpressRequest, response: NodeResponse, next: (error?: unknown) => void) => {
      const { method = 'GET', url = '/', originalUrl: path = url, headers } = request
      decide({ method, path, headers }).then((decision) => {
        if ('answer' in decision) return sendAnswer(response, decision.answer)
        auths.set(request, decision.auth)
        return next()
      }, next)
    },

    /** `app.addHook('onRequest', guard.fastify)`, then `resourceAuthOf(request)` in a handler. */
    fastify: async (request: FastifyRequest, reply: FastifyReply) => {
      const { method, originalUrl: path, headers } = request
      const decision = await decide({ method, path, headers })
      if ('answer' in decision) {
        reply.status(decision.answer.status)
        for (const [name, value] of Object.entries(decision.answer.headers)) reply.header(name, value)
        reply.send(decision.answer.body)
        return reply
      }
      auths.set(request, decision.auth)
      return undefined
    },

    /** `app.use(guard.hono)`, then `resourceAuthOf(context)` in a handler. */
    hono: async (context: HonoContext, next: () => Promise<void>) => {
      const decision = await ofFetch(context.req.raw)
      if (!decision.goOn) return decision.response
      auths.set(context, decision.auth)
      await next()
      return undefined
    },

    /** `export const POST = guard.next(handler)` in route.ts. The route of the metadata needs no handler. */
    next:
      <Context>(handler?: (request: Request, auth: ResourceAuth, context: Context) => Response | Promise<Response>) =>
      async (request: Request, context: Context): Promise<Response> => {
        const decision = await ofFetch(request)
        if (!decision.goOn) return decision.response
        return handler ? handler(request, decision.auth, context) : new Response(null, { status: 404 })
      },
  }
}

/**
 * Guards an API or an MCP server with the signed tokens that Latchkey gives for it alone, and says where programs get one: the metadata is
 * answered at `metadataPath`, and every other request that comes here needs a token.
 */
export const resourceGuard = (options: ResourceGuardOptions) => {
  const read = readOptions(options)
  const { revocations, fetch, now, onProblem } = read
  const list = revocations && followRevocations({ ...revocations, fetch, now, onProblem })
  const decide = createDecide(read, createCheck(read, list))
  return {
    ...createAdapters((request) => decide(request, read.needs)),
    /** The path at which the metadata must be reachable. */
    metadataPath: read.metadataPath,
    /** The same guard for requests that need these scopes. */
    needing: (...needs: string[]) => {
      refuseFaults([!needs.every((each) => read.scopes.includes(each)) && 'needing: must be among scopes'])
      return createAdapters((request) => decide(request, needs))
    },
    /** Stops following the list of ended sessions, so that the program can end. */
    close: () => list?.close(),
  }
}

export type ResourceGuard = ReturnType<typeof resourceGuard>
