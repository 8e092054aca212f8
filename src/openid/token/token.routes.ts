import { type Application, deviceFlowFault, quoted } from '../../applications/applications.js'
import { type GrantType, grantTypes, openidScopes } from '../../contract/openid.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import { type ProtocolError, sendProtocolError } from '../../http/errors.js'
import type { Form } from '../../http/forms.js'
import { clientOf, type RequestOrigin } from '../../http/request-origin.js'
import type { Server } from '../../http/server.js'
import { seconds } from '../../lib/durations.js'
import type { App } from '../../service/open-http.js'
import type { ClientRoutes } from '../client-authentication.js'
import type { OpenidRoom } from '../open-openid.js'
import { accessTokenLifetime, type Grant, type GrantFault, grantFaults } from './grants.js'

type TokenOutcome = 'issued' | 'refused' | GrantFault

type TokenRequest = { client: Application; form: Form; origin: RequestOrigin }
type Faulty = Refused<'faulty'> & { fault: ProtocolError; outcome: TokenOutcome }
type TokenAnswer = {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
  id_token?: string
}

const faulty = (fault: ProtocolError, outcome: TokenOutcome = 'refused'): Faulty => refuse('faulty', { fault, outcome })
const missingParameter = (name: string) => faulty({ error: 'invalid_request', description: `${name} is missing` })

/** RFC 6749, 5.1. */
const answerOf = ({ accessToken, content }: Grant, refreshToken: string, idToken: string | undefined): TokenAnswer => ({
  access_token: accessToken,
  token_type: 'Bearer',
  expires_in: accessTokenLifetime / seconds,
  refresh_token: refreshToken,
  scope: content.scopes.join(' '),
  ...(idToken !== undefined && { id_token: idToken }),
})

/** Undefined without the scope `openid`, which is plain OAuth (OpenID Connect Core 3.1.2.1). */
const issueIdToken = async (client: Application, grant: Grant, { idTokens }: OpenidRoom) => {
  const { sid, subject, content, accessToken } = grant
  return content.scopes.includes('openid') ? idTokens.issue({ client, subject, sid, content, accessToken }) : undefined
}

/** Faults that are no error of the application: an authorization or a device code may end. */
const normalEnds: readonly GrantFault[] = ['ended', 'device_denied', 'device_expired']
const kindOf = (fault: GrantFault) => (normalEnds.includes(fault) ? 'normal_end' : 'grant')

/** OpenID Connect Core 3.1.3. */
const redeemCode = async ({ client, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const code = form.values.get('code')
  if (code === undefined) return missingParameter('code')
  const redirectUri = form.values.get('redirect_uri')
  const codeVerifier = form.values.get('code_verifier')
  const sign = (grant: Grant) => issueIdToken(client, grant, openid)
  const redeemed = await openid.codes.redeem({ client, code, redirectUri, codeVerifier, origin, sign })
  if (!isRefused(redeemed)) return answerOf(redeemed.grant, redeemed.refreshToken, redeemed.signed)
  const { refused } = redeemed
  const { error, description } = grantFaults[refused]
  const sentence =
    refused === 'other_redirect'
      ? `redirect_uri ${quoted(redirectUri ?? '')} is not the one of the authorization request`
      : description
  openid.applicationErrors.note(client, kindOf(refused), sentence, origin)
  return faulty({ error, description }, refused)
}

/** Programs send the scopes of their authorization request again, so unknown scopes are ignored here as they were there (RFC 6749, 3.3). */
const askedScopes = (text: string | undefined) => {
  const asked = text?.split(' ').filter(Boolean)
  const knownScopes = openidScopes.filter((scope) => asked?.includes(scope))
  return knownScopes.length > 0 ? knownScopes : asked
}

/** OpenID Connect Core 12. */
const refresh = async ({ client, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const token = form.values.get('refresh_token')
  if (token === undefined) return missingParameter('refresh_token')
  const scopes = askedScopes(form.values.get('scope'))
  const refreshed = await openid.refresh({ client, token, scopes, origin })
  if (!isRefused(refreshed))
    return answerOf(refreshed.grant, refreshed.refreshToken, await issueIdToken(client, refreshed.grant, openid))
  const { error, description } = grantFaults[refreshed.refused]
  openid.applicationErrors.note(client, kindOf(refreshed.refused), description, origin)
  return faulty({ error, description }, refreshed.refused)
}

/** RFC 8628, 3.4. A device that waits is no error of its application. */
const redeemDevice = async ({ client, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const fault = deviceFlowFault(client)
  if (fault !== undefined) return faulty({ error: 'unauthorized_client', description: fault })
  const deviceCode = form.values.get('device_code')
  if (deviceCode === undefined) return missingParameter('device_code')
  const sign = (grant: Grant) => issueIdToken(client, grant, openid)
  const redeemed = await openid.devices.redeem({ client, deviceCode, origin, sign })
  if (!isRefused(redeemed)) return answerOf(redeemed.grant, redeemed.refreshToken, redeemed.signed)
  const { error, description } = grantFaults[redeemed.refused]
  if (redeemed.refused !== 'device_pending')
    openid.applicationErrors.note(client, kindOf(redeemed.refused), description, origin)
  return faulty({ error, description }, redeemed.refused)
}

const grants: Readonly<Record<GrantType, typeof refresh>> = {
  authorization_code: redeemCode,
  refresh_token: refresh,
  'urn:ietf:params:oauth:grant-type:device_code': redeemDevice,
}
const isGrantType = (name: string | undefined): name is GrantType => name !== undefined && Object.hasOwn(grants, name)

/** The token endpoint, for a client that has authenticated. */
const grantTokens = async (tokenRequest: TokenRequest, openid: OpenidRoom): Promise<TokenAnswer | Faulty> => {
  const type = tokenRequest.form.values.get('grant_type')
  if (type === undefined) return missingParameter('grant_type')
  if (!isGrantType(type))
    return faulty({
      error: 'unsupported_grant_type',
      description: `grant_type must be one of ${grantTypes.join(', ')}`,
    })
  return grants[type](tokenRequest, openid)
}

/** The outcome that the metrics count for a client that was refused before its grant, by the status of the answer. */
const clientRefusals: Readonly<Record<number, string>> = { 401: 'invalid_client', 429: 'rate_limited' }

/** Exchanges codes and refresh tokens for tokens (RFC 6749, 3.2). */
export const openidTokenRoutes = (server: Server, { metrics }: App, clientRoutes: ClientRoutes) => {
  const count = (form: Form, outcome: string) => {
    const type = form.values.get('grant_type')
    metrics?.countTokens(isGrantType(type) ? type : 'other', outcome)
  }
  const onClientRefused = (form: Form, status: number) => count(form, clientRefusals[status] ?? 'refused')
  clientRoutes.add(server, '/api/auth/token', { onClientRefused }, async (openid, { client, form, request, reply }) => {
    const granted = await grantTokens({ client, form, origin: clientOf(request) }, openid)
    count(form, isRefused(granted) ? granted.outcome : 'issued')
    // RFC 6749, 5.1.
    reply.header('pragma', 'no-cache')
    return isRefused(granted) ? sendProtocolError(reply, granted.fault) : reply.send(granted)
  })
}
