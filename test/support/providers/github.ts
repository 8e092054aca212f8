import { createHash, randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { json, listen, type Reply, readForm } from './replies.js'

export type Address = { email: unknown; primary?: unknown; verified?: unknown }

/** Differences from GitHub. By default it answers what the service uses as GitHub does. */
export type GitHubBehaviour = {
  instead?: Partial<Record<'token' | 'user' | 'emails', Reply>>
  tokenBody?: (body: Record<string, unknown>) => Record<string, unknown>
  user?: (user: Record<string, unknown>) => unknown
  /** Pages of the list of addresses, in order. */
  pages?: Address[][]
  /** The `Link` header of a page, in place of the proper one. */
  link?: (page: number, apiUrl: string) => string
  /** Changes what the browser brings back. */
  callback?: (parameters: URLSearchParams) => void
}

const member = { id: 583231, login: 'ada', name: 'Ada Example' as string | null }
const addresses: Address[] = [
  { email: 'ada@users.noreply.example.com', primary: false, verified: true },
  { email: 'ada@example.com', primary: true, verified: true },
]

type Grant = { challenge: string; redirectUri: string; scope: string }

export const createGitHubShaped = async (settings: { clientId?: string; clientSecret?: string } = {}) => {
  const { clientId = 'client-b', clientSecret = 'client-b-secret-of-many-letters' } = settings
  const grants = new Map<string, Grant>()
  const requests: string[] = []
  let behaviour: GitHubBehaviour = {}
  let who: Record<string, unknown> = { ...member }
  let list = addresses

  const authorize = (url: URL, response: ServerResponse) => {
    const asked = Object.fromEntries(url.searchParams)
    const code = randomUUID()
    grants.set(code, {
      challenge: asked.code_challenge ?? '',
      redirectUri: asked.redirect_uri ?? '',
      scope: asked.scope ?? '',
    })
    const parameters = new URLSearchParams({ code, state: asked.state ?? '' })
    behaviour.callback?.(parameters)
    response.writeHead(302, { location: `${asked.redirect_uri}?${parameters}` }).end()
  }

  const token = async (request: IncomingMessage, response: ServerResponse) => {
    const form = await readForm(request)
    const grant = grants.get(form.get('code') ?? '')
    grants.delete(form.get('code') ?? '')
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url')
    if (form.get('client_id') !== clientId || form.get('client_secret') !== clientSecret)
      return json({ error: 'incorrect_client_credentials', error_description: 'The client id or secret is wrong.' })(
        response,
      )
    if (!grant || grant.challenge !== challenge || grant.redirectUri !== form.get('redirect_uri'))
      return json({ error: 'bad_verification_code', error_description: 'The code is wrong or expired.' })(response)
    const body = { access_token: 'gho_provider_token', token_type: 'bearer', scope: grant.scope }
    return json(behaviour.tokenBody?.(body) ?? body)(response)
  }

  const emails = (url: URL, response: ServerResponse) => {
    const pages = behaviour.pages ?? [list]
    const page = Number(url.searchParams.get('page') ?? '1')
    const here = `${server.url}/api/v3/user/emails`
    const next =
      page < pages.length
        ? `<${here}?per_page=100&page=${page + 1}>; rel="next", <${here}?page=${pages.length}>; rel="last"`
        : ''
    const link = behaviour.link?.(page, `${server.url}/api/v3`) ?? next
    if (link) response.setHeader('link', link)
    return json(pages[page - 1] ?? [])(response)
  }

  /** GitHub refuses requests without a User-Agent too. */
  const authorised = (request: IncomingMessage) =>
    request.headers.authorization === 'Bearer gho_provider_token' && request.headers['user-agent'] !== undefined

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url ?? '/', server.url)
    requests.push(url.pathname)
    const { instead = {} } = behaviour
    if (url.pathname.startsWith('/api/') && !authorised(request))
      return json({ message: 'Requires authentication' }, 401)(response)
    const routes: Record<string, () => unknown> = {
      '/login/oauth/authorize': () => authorize(url, response),
      '/login/oauth/access_token': () => (instead.token ? instead.token(response) : token(request, response)),
      '/api/v3/user': () => (instead.user ?? json(behaviour.user ? behaviour.user(who) : who))(response),
      '/api/v3/user/emails': () => (instead.emails ? instead.emails(response) : emails(url, response)),
    }
    const route = routes[url.pathname]
    if (route) return void route()
    return json({ message: 'Not Found' }, 404)(response)
  }

  const server = await listen(answer)
  return {
    url: server.url,
    apiUrl: `${server.url}/api/v3`,
    clientId,
    clientSecret,
    requests,
    behave: (next: GitHubBehaviour) => {
      behaviour = next
    },
    become: (next: Record<string, unknown>, nextAddresses = addresses) => {
      who = { ...member, ...next }
      list = nextAddresses
    },
    close: server.close,
  }
}

export type GitHubShaped = Awaited<ReturnType<typeof createGitHubShaped>>
