import * as oidc from 'openid-client'
import { isRefused } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Clock } from '../lib/clock.js'
import { days, hours, minutes, seconds } from '../lib/durations.js'
import { isLoopback } from '../lib/networks.js'
import type { Fetch, Outbound } from '../platform/outbound/outbound.js'
import { displayName } from '../users/names.js'
import {
  type ClientSettings,
  type Profile,
  type Provider,
  type ProviderRefusal,
  providerRefusal,
  refusalFrom,
  usableEmail,
} from './provider.js'

const documentLifetime = 1 * hours
const failureLifetime = 5 * seconds

type DiscoverySettings = { issuer: string; clientId: string; allowLoopbackHttp: boolean }

/**
 * The provider's discovery document. It is loaded when it is first needed, so that the service can start while a provider is down. A
 * failure is remembered briefly, so that many requests do not wait for it one after the other. A loaded document is used while a newer one
 * is loaded in the background.
 */
const createDiscovery = (settings: DiscoverySettings, { clock }: { clock: Clock }) => {
  let lastDocument: { metadata: oidc.ServerMetadata; at: number } | undefined
  let lastFailure: { error: unknown; at: number } | undefined
  let pendingRequest: Promise<oidc.ServerMetadata> | undefined

  const now = () => clock.now().getTime()

  const discover = async (fetch: Fetch) => {
    try {
      const configuration = await oidc.discovery(new URL(settings.issuer), settings.clientId, undefined, undefined, {
        [oidc.customFetch]: fetch,
        execute: settings.allowLoopbackHttp ? [oidc.allowInsecureRequests] : [],
      })
      const metadata = { ...configuration.serverMetadata() }
      if (!isUsable(metadata)) throw new Error('The discovery document lacks an address that a sign-in needs')
      lastDocument = { metadata, at: now() }
      lastFailure = undefined
      return metadata
    } catch (error) {
      lastFailure = { error, at: now() }
      throw error
    } finally {
      pendingRequest = undefined
    }
  }

  const ask = (fetch: Fetch) => {
    if (lastFailure && now() - lastFailure.at < failureLifetime) return Promise.reject(lastFailure.error)
    pendingRequest ??= discover(fetch)
    return pendingRequest
  }

  return async (fetch: Fetch): Promise<oidc.ServerMetadata> => {
    if (!lastDocument) return ask(fetch)
    if (now() - lastDocument.at > documentLifetime) ask(fetch).catch(() => undefined)
    return lastDocument.metadata
  }
}

/** A document that does not work for sign-ins must not replace a good one. */
const isUsable = ({ authorization_endpoint, token_endpoint, jwks_uri }: oidc.ServerMetadata) =>
  [authorization_endpoint, token_endpoint, jwks_uri].every(
    (address) => address !== undefined && URL.canParse(address) && /^https?:$/.test(new URL(address).protocol),
  )

const renewalAge = 5 * minutes
const coolDown = 30 * seconds
const longestAge = 24 * hours

type KeySet = { body: string; fetchedAt: number }

/**
 * The provider's signing keys. They are loaded again when they are old, or when a token names an unknown key. Tokens with invented key
 * names cause at most one request per cool-down. While the provider cannot be reached, the last good set is used.
 */
const createProviderKeys = ({ clock }: { clock: Clock }) => {
  let current: KeySet | undefined
  let lastRenewalAt: number | undefined
  let pendingDownload: Promise<KeySet> | undefined

  const age = () => (current ? clock.now().getTime() - current.fetchedAt : Number.POSITIVE_INFINITY)

  const download = async (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
    const response = await fetch(url, request)
    const body = await response.text()
    if (response.status !== 200 || !isKeySet(body)) throw new Error('The answer is not a set of keys')
    return { body, fetchedAt: clock.now().getTime() }
  }

  const renew = (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
    if (current) lastRenewalAt = clock.now().getTime()
    pendingDownload ??= download(fetch, url, request)
      .then((keySet) => {
        current = keySet
        return keySet
      })
      .catch((error: unknown) => {
        if (current && age() < longestAge) return current
        throw error
      })
      .finally(() => {
        pendingDownload = undefined
      })
    return pendingDownload
  }

  const isCoolingDown = () => lastRenewalAt !== undefined && clock.now().getTime() - lastRenewalAt < coolDown

  return {
    /**
     * The set for the library, with an age of two minutes. The library uses a set that is less than five minutes old. If a token
     * names an unknown key, the library loads the set again only if it is more than one minute old.
     */
    forLibrary: () =>
      current && age() < renewalAge
        ? { jwks: JSON.parse(current.body), uat: Math.floor(Date.now() / 1000) - 120 }
        : undefined,
    /** Answers the library's request for the key set. */
    answer: async (fetch: Fetch, url: string, request: Parameters<Fetch>[1]) => {
      const keySet = current && isCoolingDown() && age() < longestAge ? current : await renew(fetch, url, request)
      return new Response(keySet.body, { headers: { 'content-type': 'application/json' } })
    },
  }
}

const isKeySet = (body: string) => {
  try {
    const parsed: unknown = JSON.parse(body)
    return typeof parsed === 'object' && parsed !== null && 'keys' in parsed && Array.isArray(parsed.keys)
  } catch {
    return false
  }
}

export type OpenIdConnectSettings = ClientSettings & {
  issuer: string
  production: boolean
  /** True if an email counts as verified when the provider does not say whether it is. */
  trustEmail?: boolean
}
type Claims = Record<string, unknown>

/**
 * A provider says when its user last signed in there (`auth_time`) if it is asked with `max_age` (OpenID Connect Core 1.0, section 3.1.2.1)
 * or, as Google wants it, with `claims` (section 5.5). The `max_age` is longer than any session there, so no user has to enter a password
 * because of it. A step-up asks with 0 instead: then the user proves again who they are. A provider must ignore parameters that it does
 * not know.
 */
const authTimeParameters = (asksAgain: boolean) => ({
  max_age: asksAgain ? '0' : String((365 * days) / seconds),
  claims: JSON.stringify({ id_token: { auth_time: { essential: true } } }),
})

/** How far the clock of a provider may be ahead of ours. */
const clockTolerance = 1 * minutes

/** The time is never later than now. A time in the future proves nothing. */
const provenAtFrom = ({ auth_time: authTime }: Claims, now: Date) => {
  if (typeof authTime !== 'number' || authTime <= 0) return undefined
  const lead = authTime * 1000 - now.getTime()
  return lead > clockTolerance ? undefined : new Date(now.getTime() + Math.min(0, lead))
}

/** What the library needs to know: what the provider has published, our client there, and how requests are sent. */
const createConfigure = (settings: OpenIdConnectSettings, clock: Clock) => {
  const issuer = new URL(settings.issuer)
  const allowLoopbackHttp = !settings.production && issuer.protocol === 'http:' && isLoopback(issuer.hostname)
  const discover = createDiscovery({ ...settings, allowLoopbackHttp }, { clock })
  const keys = createProviderKeys({ clock })

  /** A configuration is created for each attempt: the clock may have moved, and the requests of one attempt share one deadline. */
  return async (fetch: Fetch) => {
    const metadata = await discover(fetch)
    const config = new oidc.Configuration(
      metadata,
      settings.clientId,
      { [oidc.clockSkew]: Math.round(clock.offset() / seconds) },
      authenticationFor(metadata, settings.clientSecret),
    )
    config[oidc.customFetch] = (url, request) =>
      url === metadata.jwks_uri ? keys.answer(fetch, url, request) : fetch(url, request)
    // In the code flow the library relies on TLS for the ID token, unless it is configured to check the signature too.
    oidc.enableNonRepudiationChecks(config)
    if (allowLoopbackHttp) oidc.allowInsecureRequests(config)
    const cachedKeys = keys.forLibrary()
    if (cachedKeys) oidc.setJwksCache(config, cachedKeys)
    return config
  }
}

/** Any OpenID Connect issuer: Google, Keycloak, Entra ID, Authentik and so on. */
export const createOpenIdConnect = (
  id: ProviderId,
  settings: OpenIdConnectSettings,
  { outbound, clock }: { outbound: Outbound; clock: Clock },
): Provider => {
  const configure = createConfigure(settings, clock)
  const redirectUri = new URL(settings.redirectUri)

  const begin: Provider['begin'] = async ({ state, verifier, nonce }, { asksAgain } = { asksAgain: false }) => {
    try {
      return oidc.buildAuthorizationUrl(await configure(outbound.withDeadline()), {
        redirect_uri: redirectUri.href,
        scope: 'openid profile email',
        state,
        nonce,
        ...authTimeParameters(asksAgain),
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
    } catch (error) {
      return refusalFrom(error)
    }
  }

  const finish: Provider['finish'] = async (callback, { state, verifier, nonce }) => {
    try {
      const config = await configure(outbound.withDeadline())
      const tokens = await oidc.authorizationCodeGrant(config, callback, {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const idToken: Claims = { ...tokens.claims() }
      const subject = idToken.sub
      if (typeof subject !== 'string' || subject === '' || subject.length > 255)
        return providerRefusal('failed', 'unusable_subject')
      const userinfo = await userinfoIfNeeded(config, idToken, subject, tokens.access_token)
      const profile = profileFrom(subject, { idToken, userinfo, trustEmail: settings.trustEmail ?? false })
      return isRefused(profile) ? profile : { ...profile, provenAt: provenAtFrom(idToken, clock.now()) }
    } catch (error) {
      return refusalFrom(error)
    }
  }

  return { id, name: settings.name, begin, finish }
}

/** A provider that names no method accepts basic authentication (OpenID Connect Discovery 1.0, section 3). */
const authenticationFor = (metadata: oidc.ServerMetadata, secret: string) =>
  metadata.token_endpoint_auth_methods_supported?.includes('client_secret_post')
    ? oidc.ClientSecretPost(secret)
    : oidc.ClientSecretBasic(secret)

const hasEmailClaims = (claims: Claims) => 'email' in claims && 'email_verified' in claims

/** The library compares the subject, so userinfo about another user is an error. */
const userinfoIfNeeded = async (config: oidc.Configuration, idToken: Claims, subject: string, token: string) => {
  const isComplete = hasEmailClaims(idToken) && 'name' in idToken
  if (isComplete || !config.serverMetadata().userinfo_endpoint) return {}
  return { ...(await oidc.fetchUserInfo(config, token, subject)) }
}

const saysVerified = ({ email_verified: verified }: Claims) => verified === true || verified === 'true'
const saysNothing = ({ email_verified: verified }: Claims) => verified === undefined
const saysUnverified = (claims: Claims) => !saysVerified(claims) && !saysNothing(claims)

type Answers = { idToken: Claims; userinfo: Claims; trustEmail: boolean }

/**
 * An email and `email_verified` must come from the same document. But if either document says that the email is not verified, it is
 * refused: a document without an email is about the email of the other document.
 */
const profileFrom = (subject: string, { idToken, userinfo, trustEmail }: Answers): Profile | ProviderRefusal => {
  const source = hasEmailClaims(idToken) || !('email' in userinfo) ? idToken : userinfo
  const email = usableEmail(source.email)
  if (email === undefined) return providerRefusal('no_email', 'no_email')
  const isVerified = saysVerified(source) || (trustEmail && saysNothing(source))
  if (!isVerified || [idToken, userinfo].some(saysUnverified)) return providerRefusal('no_email', 'unverified_email')
  const [username = ''] = email.split('@')
  return { subject, email, username, name: displayName(idToken.name ?? userinfo.name) }
}
