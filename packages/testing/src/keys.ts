const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const encodeText = (text: string) => encode(new TextEncoder().encode(text))

/** The user of the token. Values that are missing are made up: another user each time. */
export type TestTokenOptions = {
  readonly id?: string
  readonly username?: string
  readonly email?: string
  readonly name?: string
  readonly groups?: readonly string[]
  /** Two: as if the user had proven a second factor just now. */
  readonly factors?: 1 | 2
  /** How long ago the user proved who they are, in seconds. */
  readonly age?: number
  /** In seconds, at most 900. Negative: it has expired. */
  readonly lifetime?: number
  readonly sessionId?: string
}

/** The claims of an access token, as the service writes them. */
const claimsOf = (issuer: string, options: TestTokenOptions) => {
  const { username = 'ada', factors = 1, age = 0, lifetime = 900, groups = [], name } = options
  const now = Math.floor(Date.now() / 1000)
  const id = options.id ?? crypto.randomUUID()
  const isOver = lifetime <= 0
  return {
    userId: id,
    sub: id,
    username,
    email: options.email ?? `${username}@example.com`,
    ...(name && { name }),
    iss: issuer,
    aud: issuer,
    sid: options.sessionId ?? crypto.randomUUID(),
    gen: 0,
    iat: isOver ? now + lifetime - 900 : now,
    exp: now + lifetime,
    auth_time: now - age,
    amr: factors === 2 ? ['pwd', 'otp'] : ['pwd'],
    ...(factors === 2 && { mfa_time: now - age }),
    groups: [...groups].sort(),
  }
}

export type TestKeys = Awaited<ReturnType<typeof createTestKeys>>

/**
 * Keys of a Latchkey that is not there, for unit tests of what is behind a guard. Give `fetch` to the verifier, and the cookie
 * to the request. There is no service, so nothing can be renewed and no one signs in.
 */
export const createTestKeys = async ({ publicUrl }: { publicUrl: string }) => {
  const issuer = publicUrl.replace(/\/+$/, '')
  const how = { name: 'ECDSA', namedCurve: 'P-256' }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(how, true, ['sign', 'verify'])
  const kid = 'test-key'
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const keySet = { keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] }

  const token = async (options: TestTokenOptions = {}) => {
    const header = encodeText(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid }))
    const signed = `${header}.${encodeText(JSON.stringify(claimsOf(issuer, options)))}`
    const signing = { name: 'ECDSA', hash: 'SHA-256' }
    const signature = await crypto.subtle.sign(signing, privateKey, new TextEncoder().encode(signed))
    return `${signed}.${encode(new Uint8Array(signature))}`
  }

  return {
    /** For `createVerifier({ publicUrl, jwks: true, fetch })`. Everything but the keys is answered with 503. */
    fetch: async (input: string | URL | Request): Promise<Response> => {
      const { pathname } = new URL(input instanceof Request ? input.url : input)
      return pathname.endsWith('/.well-known/jwks.json')
        ? Response.json(keySet, { headers: { 'cache-control': 'max-age=300' } })
        : Response.json({ code: 'unavailable' }, { status: 503 })
    },
    /** The key set that `/.well-known/jwks.json` would publish, for a test in another language. */
    keySet,
    token,
    /** The header of a request, such as `access_token=eyJ…`. */
    cookie: async (options?: TestTokenOptions) => `access_token=${await token(options)}`,
  }
}
