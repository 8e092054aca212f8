import { type Application, deviceFlowFault, quoted } from '../../applications/applications.js'
import { openidScopes } from '../../contract/openid.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { ProtocolError } from '../../http/errors.js'
import type { Form } from '../../http/forms.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { seconds } from '../../lib/durations.js'
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

type Grants = Readonly<
  Record<
    string,
    {
      /** Which clients may. A client without a secret is anybody who knows its id, until what it presents is found to be its own. */
      mayUse: 'every client' | { unless: (client: Application) => string | undefined }
      run: (tokenRequest: TokenRequest, openid: OpenidRoom) => Promise<TokenAnswer | Faulty>
    }
  >
>

/** The grants that the token endpoint has. The discovery document names these. */
const grants = {
  authorization_code: { mayUse: 'every client', run: redeemCode },
  refresh_token: { mayUse: 'every client', run: refresh },
  'urn:ietf:params:oauth:grant-type:device_code': {
    mayUse: { unless: deviceFlowFault },
    run: redeemDevice,
  },
} as const satisfies Grants

export const grantTypes = Object.keys(grants) as (keyof typeof grants)[]

/** What the form says that it wants. Undefined: nothing, or a grant that there is not. */
export const grantTypeOf = ({ values }: Form) => grantTypes.find((type) => type === values.get('grant_type'))

/** Runs the grant that a client asks for, after it has authenticated and was counted. */
export const grantTokens = async (tokenRequest: TokenRequest, openid: OpenidRoom): Promise<TokenAnswer | Faulty> => {
  const { client, form } = tokenRequest
  if (form.values.get('grant_type') === undefined) return missingParameter('grant_type')
  const type = grantTypeOf(form)
  if (!type)
    return faulty({
      error: 'unsupported_grant_type',
      description: `grant_type must be one of ${grantTypes.join(', ')}`,
    })
  const { mayUse, run }: Grants[string] = grants[type]
  const fault = mayUse === 'every client' ? undefined : mayUse.unless(client)
  return fault === undefined ? run(tokenRequest, openid) : faulty({ error: 'unauthorized_client', description: fault })
}
