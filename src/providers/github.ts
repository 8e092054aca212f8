import * as oidc from 'openid-client'
import type { ProviderId } from '../contract/providers.js'
import { isLoopback } from '../lib/networks.js'
import type { Fetch, Outbound } from '../platform/outbound/outbound.js'
import { displayName } from '../users/names.js'
import { type ClientSettings, type Provider, providerRefusal, refusalFrom, usableEmail } from './provider.js'

export type GitHubSettings = ClientSettings & { url: string; apiUrl: string; production: boolean }

const maximumPages = 10

class UnexpectedAnswer extends Error {
  override name = 'UnexpectedAnswer'
}

/** GitHub, GitHub Enterprise, and other services with the same OAuth and REST interfaces. */
export const createGitHub = (
  id: ProviderId,
  settings: GitHubSettings,
  { outbound }: { outbound: Outbound },
): Provider => {
  const url = withoutSlash(settings.url)
  const apiUrl = withoutSlash(settings.apiUrl)
  const webUrl = new URL(url)
  const redirectUri = new URL(settings.redirectUri)

  const configure = (fetch: Fetch) => {
    const metadata = {
      issuer: `${url}/login/oauth`,
      authorization_endpoint: `${url}/login/oauth/authorize`,
      token_endpoint: `${url}/login/oauth/access_token`,
    }
    const authentication = oidc.ClientSecretPost(settings.clientSecret)
    const config = new oidc.Configuration(metadata, settings.clientId, undefined, authentication)
    config[oidc.customFetch] = fetch
    if (!settings.production && webUrl.protocol === 'http:' && isLoopback(webUrl.hostname))
      oidc.allowInsecureRequests(config)
    return config
  }

  const begin: Provider['begin'] = async ({ state, verifier }) => {
    try {
      return oidc.buildAuthorizationUrl(configure(outbound.withDeadline()), {
        redirect_uri: redirectUri.href,
        scope: 'user:email',
        state,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      })
    } catch (error) {
      return refusalFrom(error)
    }
  }

  const finish: Provider['finish'] = async (callback, { state, verifier }) => {
    try {
      const fetch = outbound.withDeadline()
      // Errors of the token endpoint come with status 200. The library refuses them, because they have no access token.
      const tokens = await oidc.authorizationCodeGrant(configure(fetch), callback, {
        expectedState: state,
        pkceCodeVerifier: verifier,
      })
      const access = { fetch, accessToken: tokens.access_token }
      const user = readUser((await getJson(access, `${apiUrl}/user`)).body)
      if (!user) return providerRefusal('failed', 'unexpected_answer')
      const email = await primaryEmail(access, `${apiUrl}/user/emails?per_page=100`)
      return email === undefined ? providerRefusal('no_email', 'no_email') : { ...user, email }
    } catch (error) {
      return error instanceof UnexpectedAnswer ? providerRefusal('failed', 'unexpected_answer') : refusalFrom(error)
    }
  }

  return { id, name: settings.name, begin, finish }
}

const withoutSlash = (url: string) => url.replace(/\/+$/, '')

/** What a request to the API needs. The token is sent with each request. */
type Access = { fetch: Fetch; accessToken: string }

const getJson = async ({ fetch, accessToken }: Access, url: string) => {
  const response = await fetch(url, {
    headers: {
      accept: 'application/vnd.github+json',
      authorization: `Bearer ${accessToken}`,
      'user-agent': 'Latchkey',
      'x-github-api-version': '2022-11-28',
    },
  })
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(response.headers.get('content-type') ?? '')
  if (response.status !== 200 || !isJson) throw new UnexpectedAnswer()
  const body: unknown = await response.json().catch(() => {
    throw new UnexpectedAnswer()
  })
  return { body, link: response.headers.get('link') ?? '' }
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** The number identifies the user. A login name can be released and taken by another user. */
const readUser = (body: unknown) => {
  if (!isObject(body) || !Number.isSafeInteger(body.id) || Number(body.id) < 1) return undefined
  if (typeof body.login !== 'string' || body.login === '') return undefined
  return { subject: String(body.id), username: body.login, name: displayName(body.name) }
}

/** The address that is both primary and verified, on any page of the list. A failed request throws. */
const primaryEmail = async (access: Access, firstPage: string) => {
  const { origin } = new URL(firstPage)
  let page: string | undefined = firstPage
  for (let count = 0; page !== undefined && count < maximumPages; count += 1) {
    const { body, link }: Awaited<ReturnType<typeof getJson>> = await getJson(access, page)
    if (!Array.isArray(body)) throw new UnexpectedAnswer()
    const primary = body.find((entry) => isObject(entry) && entry.primary === true)
    if (primary) return primary.verified === true ? usableEmail(primary.email) : undefined
    page = nextPage(link, page)
    // The token is sent with each request, so pages on another host are not requested.
    if (page !== undefined && new URL(page).origin !== origin) throw new UnexpectedAnswer()
  }
  if (page !== undefined) throw new UnexpectedAnswer()
  return undefined
}

const nextPage = (link: string, current: string) => {
  const [, address] = /<([^>]*)>\s*;[^,]*\brel="?next\b/i.exec(link) ?? []
  if (address === undefined) return undefined
  if (!URL.canParse(address, current)) throw new UnexpectedAnswer()
  return new URL(address, current).href
}
