import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json, listen, type Reply, readForm } from './replies.js'
import { type Claims, createSigningKey, type SigningKey, signRs256 } from './signed-tokens.js'

type Signing = { key: SigningKey; strangerKey: SigningKey; clientSecret: string }

/** Faults of an issuer. Without any of them, it is an honest OpenID Connect provider. */
export type IssuerBehaviour = {
  /** Takes the place of the whole answer. */
  instead?: Partial<Record<'discovery' | 'keys' | 'token' | 'userinfo', Reply>>
  document?: (document: Claims) => Claims
  keySet?: (keys: unknown[]) => unknown[]
  idToken?: (claims: Claims) => Claims
  sign?: (claims: Claims, signing: Signing) => string
  tokenBody?: (body: Claims) => Claims
  userinfo?: (claims: Claims) => Claims
  /** Changes the parameters with which the browser is sent back. */
  callback?: (parameters: URLSearchParams) => void
}

export const person = {
  sub: 'subject-1',
  email: 'ada@example.com',
  email_verified: true as unknown,
  name: 'Ada Example' as string | undefined,
}

type Grant = { challenge: string; nonce: string; redirectUri: string; asksForAuthTime: boolean }

/** An issuer whose browser side asks nothing: it answers at once as `person`. */
export const createIssuer = async (settings: { clientId?: string; clientSecret?: string } = {}) => {
  const { clientId = 'client-a', clientSecret = 'client-a-secret-of-many-letters' } = settings
  const keys = [createSigningKey()]
  const strangerKey = createSigningKey()
  const grants = new Map<string, Grant>()
  const requests: string[] = []
  let behaviour: IssuerBehaviour = {}
  let who = { ...person }

  const currentKey = () => {
    const key = keys.at(-1)
    if (!key) throw new Error('An issuer has a key')
    return key
  }

  const document = (): Claims => ({
    issuer: server.url,
    authorization_endpoint: `${server.url}/authorize`,
    token_endpoint: `${server.url}/token`,
    userinfo_endpoint: `${server.url}/userinfo`,
    jwks_uri: `${server.url}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
    code_challenge_methods_supported: ['S256'],
  })

  const authorize = (url: URL, response: ServerResponse) => {
    const asked = Object.fromEntries(url.searchParams)
    const code = randomUUID()
    grants.set(code, {
      challenge: asked.code_challenge ?? '',
      nonce: asked.nonce ?? '',
      redirectUri: asked.redirect_uri ?? '',
      asksForAuthTime: asked.max_age !== undefined,
    })
    const parameters = new URLSearchParams({ code, state: asked.state ?? '' })
    behaviour.callback?.(parameters)
    response.writeHead(302, { location: `${asked.redirect_uri}?${parameters}` }).end()
  }

  const credentialsOf = (request: IncomingMessage, form: URLSearchParams) => {
    const [, basic] = /^Basic (.+)$/.exec(request.headers.authorization ?? '') ?? []
    if (basic === undefined) return [form.get('client_id'), form.get('client_secret')].join(':')
    return Buffer.from(basic, 'base64').toString().split(':').map(decodeURIComponent).join(':')
  }

  const token = async (request: IncomingMessage, response: ServerResponse) => {
    const form = await readForm(request)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (credentialsOf(request, form) !== `${clientId}:${clientSecret}`)
      return json({ error: 'invalid_client' }, 401)(response)
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return json({ error: 'invalid_grant' }, 400)(response)
    const now = Math.floor(Date.now() / 1000)
    // Its visitors have just entered their password.
    const authTime = grant.asksForAuthTime ? { auth_time: now } : {}
    const proper = { iss: server.url, aud: clientId, iat: now, exp: now + 300, nonce: grant.nonce, ...authTime, ...who }
    const claims = behaviour.idToken?.(proper) ?? proper
    const key = currentKey()
    const signed =
      behaviour.sign?.(claims, { key, strangerKey, clientSecret }) ?? signRs256(claims, key, { kid: key.kid })
    const body = { access_token: 'provider-access-token', token_type: 'Bearer', expires_in: 300, id_token: signed }
    return json(behaviour.tokenBody?.(body) ?? body)(response)
  }

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', server.url)
    requests.push(url.pathname)
    const { instead = {} } = behaviour
    const routes: Record<string, () => unknown> = {
      '/.well-known/openid-configuration': () =>
        (instead.discovery ?? json(behaviour.document?.(document()) ?? document()))(response),
      '/keys': () => {
        const set = keys.map(({ jwk }) => jwk)
        return (instead.keys ?? json({ keys: behaviour.keySet?.(set) ?? set }))(response)
      },
      '/authorize': () => authorize(url, response),
      '/token': () => (instead.token ? instead.token(response) : token(request, response)),
      '/userinfo': () => (instead.userinfo ?? json(behaviour.userinfo?.({ ...who }) ?? who))(response),
    }
    const route = routes[url.pathname]
    if (route) void route()
    else response.writeHead(404).end()
  }

  const server = await listen(answer)
  return {
    issuer: server.url,
    clientId,
    clientSecret,
    requests,
    behave: (next: IssuerBehaviour) => {
      behaviour = next
    },
    become: (next: Partial<typeof person>) => {
      who = { ...person, ...next }
    },
    /** A new key signs from now on; the old one goes unless it is kept. */
    rotate: ({ keepOld = false } = {}) => {
      if (!keepOld) keys.splice(0)
      keys.push(createSigningKey())
    },
    close: server.close,
  }
}

export type Issuer = Awaited<ReturnType<typeof createIssuer>>
