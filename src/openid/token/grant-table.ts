import {
  type Application,
  clientIdOf,
  deviceFlowFault,
  quoted,
  type RememberedClient,
} from '../../applications/applications.js'
import { offlineAccess } from '../../contract/openid.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { ProtocolError } from '../../http/errors.js'
import type { Form } from '../../http/forms.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { seconds } from '../../lib/durations.js'
import type { Unconfirmed } from '../client-authentication.js'
import type { OpenidRoom } from '../open-openid.js'
import { normalResource } from '../resources/resource.js'
import { accessTokenLifetime, type Grant, type GrantFault, grantFaults, resourceTokenLifetime } from './grants.js'
import { supportedScopes } from './user-claims.js'

type TokenOutcome = 'issued' | 'refused' | GrantFault

type TokenRequest = {
  client: Application
  remembered: RememberedClient | undefined
  form: Form
  origin: RequestOrigin
}
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
const answerOf = (
  { resource, content }: Grant,
  refreshToken: string,
  { accessToken, idToken }: SignedTokens,
): TokenAnswer => ({
  access_token: accessToken,
  token_type: 'Bearer',
  expires_in: (resource ? resourceTokenLifetime : accessTokenLifetime) / seconds,
  refresh_token: refreshToken,
  scope: content.scopes.join(' '),
  ...(idToken !== undefined && { id_token: idToken }),
})

type SignedTokens = { accessToken: string; idToken: string | undefined }

/** There is no ID token without the scope `openid`, which is plain OAuth (OpenID Connect Core 3.1.2.1). */
const signTokens = async (
  client: Application,
  grant: Grant,
  { accessTokens, idTokens }: OpenidRoom,
): Promise<SignedTokens> => {
  const { sid, subject, content } = grant
  const accessToken = await accessTokens.issue(client, grant)
  const audience = { id: clientIdOf(client), algorithm: client.algorithm }
  const hasIdToken = content.scopes.includes('openid')
  const idToken = hasIdToken
    ? await idTokens.issue({ client: audience, subject, sid, content, accessToken })
    : undefined
  return { accessToken, idToken }
}

/** As addresses of resources are compared. What is no address is none of any resource. */
const resourceIn = ({ values }: Form) => {
  const text = values.get('resource')
  return text === undefined ? undefined : (normalResource(text) ?? text)
}

/** Faults that are no error of the application: an authorization or a device code may end. */
const normalEnds: readonly GrantFault[] = ['ended', 'device_denied', 'device_expired']
const kindOf = (fault: GrantFault) => (normalEnds.includes(fault) ? 'normal_end' : 'grant')

/** OpenID Connect Core 3.1.3. */
const redeemCode = async ({ client, remembered, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const code = form.values.get('code')
  if (code === undefined) return missingParameter('code')
  const redirectUri = form.values.get('redirect_uri')
  const codeVerifier = form.values.get('code_verifier')
  const resource = resourceIn(form)
  const sign = (grant: Grant) => signTokens(client, grant, openid)
  const sent = { client, remembered, code, redirectUri, codeVerifier, resource, origin, sign }
  const redeemed = await openid.codes.redeem(sent)
  if (!isRefused(redeemed)) return answerOf(redeemed.grant, redeemed.refreshToken, redeemed.signed)
  const { refused } = redeemed
  if (refused === 'unconfirmed') return refuse(refused)
  const { error, description } = grantFaults[refused]
  const sentence =
    refused === 'other_redirect'
      ? `redirect_uri ${quoted(redirectUri ?? '')} is not the one of the authorization request`
      : description
  openid.applicationErrors.note(client, kindOf(refused), sentence, origin)
  return faulty({ error, description }, refused)
}

/** Programs send the scopes of their authorization request again, so unknown scopes are ignored here as they were there (RFC 6749, 3.3). */
const askedScopes = async (text: string | undefined, token: string, { authorizations }: OpenidRoom) => {
  const asked = text?.split(' ').filter(Boolean)
  if (!asked) return undefined
  const isUsual = asked.every((scope) => supportedScopes.includes(scope))
  const ofResource = isUsual ? [] : ((await authorizations.resourceScopesOf(token)) ?? [])
  const known = [...supportedScopes, ...ofResource].filter((scope) => asked.includes(scope))
  // It means nothing for most programs, and asks for nothing here.
  const withoutOffline = known.filter((scope) => scope !== offlineAccess)
  return withoutOffline.length > 0 ? [...new Set(withoutOffline)] : asked
}

/** OpenID Connect Core 12. */
const refresh = async ({ client, remembered, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const token = form.values.get('refresh_token')
  if (token === undefined) return missingParameter('refresh_token')
  const scopes = await askedScopes(form.values.get('scope'), token, openid)
  const refreshed = await openid.refresh({ client, remembered, token, scopes, resource: resourceIn(form), origin })
  if (!isRefused(refreshed))
    return answerOf(refreshed.grant, refreshed.refreshToken, await signTokens(client, refreshed.grant, openid))
  const { refused } = refreshed
  if (refused === 'unconfirmed') return refuse(refused)
  const { error, description } = grantFaults[refused]
  openid.applicationErrors.note(client, kindOf(refused), description, origin)
  return faulty({ error, description }, refused)
}

/** RFC 8707, 2: a target that cannot be had is an error, and never a token for more. */
export const noResourceForDevices = {
  error: 'invalid_target',
  description: 'A device gets no tokens for a resource',
} as const satisfies ProtocolError

/** RFC 8628, 3.4. A device that waits is no error of its application. */
const redeemDevice = async ({ client, form, origin }: TokenRequest, openid: OpenidRoom) => {
  const deviceCode = form.values.get('device_code')
  if (deviceCode === undefined) return missingParameter('device_code')
  if (form.values.has('resource')) return faulty(noResourceForDevices)
  const sign = (grant: Grant) => signTokens(client, grant, openid)
  const redeemed = await openid.devices.redeem({ client, deviceCode, origin, sign })
  if (!isRefused(redeemed)) return answerOf(redeemed.grant, redeemed.refreshToken, redeemed.signed)
  const { error, description } = grantFaults[redeemed.refused]
  if (redeemed.refused !== 'device_pending')
    openid.applicationErrors.note(client, kindOf(redeemed.refused), description, origin)
  return faulty({ error, description }, redeemed.refused)
}

type Grants = Readonly<
  Record<
    string,
    {
      /** Which clients may. A client without a secret is anybody who knows its id, until what it presents is found to be its own. */
      mayUse: 'every client' | { unless: (client: Application) => string | undefined }
      /** Whether its first statement that writes or tells something checks a remembered client. */
      checksClient: boolean
      run: (tokenRequest: TokenRequest, openid: OpenidRoom) => Promise<TokenAnswer | Faulty | Unconfirmed>
    }
  >
>

/** The grants that the token endpoint has. The discovery document names these. */
const grants = {
  authorization_code: { mayUse: 'every client', checksClient: true, run: redeemCode },
  refresh_token: { mayUse: 'every client', checksClient: true, run: refresh },
  'urn:ietf:params:oauth:grant-type:device_code': {
    mayUse: { unless: deviceFlowFault },
    checksClient: false,
    run: redeemDevice,
  },
} as const satisfies Grants

export const grantTypes = Object.keys(grants) as (keyof typeof grants)[]

/** What the form says that it wants. Undefined: nothing, or a grant that there is not. */
export const grantTypeOf = ({ values }: Form) => grantTypes.find((type) => type === values.get('grant_type'))

export const checksClient = (form: Form) => {
  const type = grantTypeOf(form)
  return type !== undefined && grants[type].checksClient
}

/** Runs the grant that a client asks for, after it has authenticated and was counted. */
export const grantTokens = async (
  tokenRequest: TokenRequest,
  openid: OpenidRoom,
): Promise<TokenAnswer | Faulty | Unconfirmed> => {
  const { client, form } = tokenRequest
  if (form.values.get('grant_type') === undefined) return missingParameter('grant_type')
  const type = grantTypeOf(form)
  if (!type)
    return faulty({
      error: 'unsupported_grant_type',
      description: `grant_type must be one of ${grantTypes.join(', ')}`,
    })
  const { mayUse, run }: Grants[string] = grants[type]
  // The operator has taken its host off the list. The program may ask its user again, and is told then.
  if (client.document !== undefined && !openid.clientDocuments.isAllowed(client.document))
    return faulty(grantFaults.ended, 'ended')
  const fault = mayUse === 'every client' ? undefined : mayUse.unless(client)
  return fault === undefined ? run(tokenRequest, openid) : faulty({ error: 'unauthorized_client', description: fault })
}
