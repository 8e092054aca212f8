import * as oauth from 'oauth4webapi'

/** The credentials of an application at a provider. Without a secret it is a public client. */
export type RegisteredClient = { id: string; secret: string; redirectAddress: string }

/** Parameters in place of the usual ones. Null leaves one out. */
export type Changed = Record<string, string | null>

/** A request, and what the application keeps for its answer. */
export type SentRequest = { parameters: URLSearchParams; verifier: string; state: string; nonce: string }

export type Tokens = oauth.TokenEndpointResponse & { id_token: string; claims: oauth.IDToken }

const insecure = { [oauth.allowInsecureRequests]: true }

export const discover = async (issuer: string) =>
  oauth.processDiscoveryResponse(new URL(issuer), await oauth.discoveryRequest(new URL(issuer), insecure))

const newRequest = async ({ id, redirectAddress }: RegisteredClient, changed: Changed): Promise<SentRequest> => {
  const verifier = oauth.generateRandomCodeVerifier()
  const all: Changed = {
    client_id: id,
    redirect_uri: redirectAddress,
    response_type: 'code',
    scope: 'openid',
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...changed,
  }
  const sent = Object.entries(all).filter((each): each is [string, string] => each[1] !== null)
  return { parameters: new URLSearchParams(sent), verifier, state: all.state ?? '', nonce: all.nonce ?? '' }
}

/**
 * The side of the application, at any provider, by an outside library: each answer is checked as the standards say, and the
 * signatures of ID tokens by the keys that the provider publishes. `skew`: how far the clock of the provider was moved, in ms.
 */
export const createOpenidClient = async (
  issuer: string,
  registered: RegisteredClient,
  { skew = () => 0, authentication }: { skew?: () => number; authentication?: oauth.ClientAuth } = {},
) => {
  const server = await discover(issuer)
  const { id, secret, redirectAddress } = registered
  const client = () => ({ client_id: id, [oauth.clockSkew]: Math.round(skew() / 1_000) })
  const proof = authentication ?? (secret === '' ? oauth.None() : oauth.ClientSecretBasic(secret))

  const checked = async (response: Response, tokens: oauth.TokenEndpointResponse): Promise<Tokens> => {
    const claims = oauth.getValidatedIdTokenClaims(tokens)
    if (!claims || tokens.id_token === undefined) throw new Error('There is no ID token')
    await oauth.validateApplicationLevelSignature(server, response, insecure)
    return { ...tokens, id_token: tokens.id_token, claims }
  }

  /** The answer of the authorization endpoint, for the token endpoint. */
  const exchange = ({ parameters, state, verifier }: SentRequest, location: string) => {
    const answer = oauth.validateAuthResponse(server, client(), new URL(location), state)
    const kept = parameters.has('code_challenge') ? verifier : oauth.nopkce
    return oauth.authorizationCodeGrantRequest(server, client(), proof, answer, redirectAddress, kept, insecure)
  }

  return {
    server,
    request: (changed: Changed = {}) => newRequest(registered, changed),
    exchange,
    redeem: async (sent: SentRequest, location: string) => {
      const response = await exchange(sent, location)
      const maxAge = sent.parameters.get('max_age')
      const tokens = await oauth.processAuthorizationCodeResponse(server, client(), response, {
        requireIdToken: true,
        expectedNonce: sent.parameters.has('nonce') ? sent.nonce : oauth.expectNoNonce,
        ...(maxAge !== null && { maxAge: Number(maxAge) }),
      })
      return checked(response, tokens)
    },
    userInfo: async ({ access_token, claims }: Tokens) =>
      oauth.processUserInfoResponse(
        server,
        client(),
        claims.sub,
        await oauth.userInfoRequest(server, client(), access_token, insecure),
      ),
    refresh: async ({ refresh_token = '' }: { refresh_token?: string }, scope?: string) => {
      const options = { ...insecure, ...(scope !== undefined && { additionalParameters: { scope } }) }
      const response = await oauth.refreshTokenGrantRequest(server, client(), proof, refresh_token, options)
      return checked(response, await oauth.processRefreshTokenResponse(server, client(), response))
    },
    revoke: async (token: string) =>
      oauth.processRevocationResponse(await oauth.revocationRequest(server, client(), proof, token, insecure)),
  }
}

export type OpenidClient = Awaited<ReturnType<typeof createOpenidClient>>
