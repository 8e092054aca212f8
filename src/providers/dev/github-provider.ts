import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Design } from '../../lib/design.js'
import { minutes } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'

import {
  type ChooserPage,
  createChooserPage,
  type Handler,
  type Person,
  personByKey,
  readForm,
  sendJson,
  startLoopbackServer,
} from './people.js'

const authorizePath = '/login/oauth/authorize'
const codeLifetime = 1 * minutes
const tokenLifetime = 10 * minutes

type Settings = { hostname: string; name: string; design: Design; redirectUri: string }
type RegisteredClient = { clientId: string; clientSecret: string; redirectUri: string; page: ChooserPage }
type Grant = { person: Person; challenge: string }

/** The parts of GitHub's OAuth and REST interfaces that a sign-in needs, with test users. */
export const startDevGithubProvider = async ({ hostname, name, design, redirectUri }: Settings) => {
  const credentials = { clientId: 'latchkey-development', clientSecret: randomToken() }
  const { origin, close } = await startLoopbackServer(hostname, () =>
    createHandler({ ...credentials, redirectUri, page: createChooserPage({ providerName: name, design }) }),
  )
  return { url: origin, apiUrl: `${origin}/api/v3`, ...credentials, close }
}

const createHandler = (client: RegisteredClient): Handler => {
  const codes = createVault<Grant>(codeLifetime)
  const tokens = createVault<Person>(tokenLifetime)
  const routes: Record<string, Handler> = {
    [`GET ${authorizePath}`]: (request, response) => ask(client, request, response),
    [`POST ${authorizePath}`]: (request, response) => choose(client, codes, request, response),
    'POST /login/oauth/access_token': (request, response) => exchange(client, codes, tokens, request, response),
    'GET /api/v3/user': (request, response) => answerAs(tokens, request, response, userOf),
    'GET /api/v3/user/emails': (request, response) => answerAs(tokens, request, response, emailsOf),
  }
  return (request, response) => {
    const [path] = (request.url ?? '/').split('?')
    const route = routes[`${request.method} ${path}`]
    return route ? route(request, response) : sendJson(response, { message: 'Not Found' }, 404)
  }
}

/** Keeps values for a short time under random names. */
const createVault = <Value>(lifetime: number) => {
  const entries = new Map<string, { value: Value; until: number }>()
  return {
    put: (value: Value) => {
      const name = randomToken()
      for (const [key, { until }] of entries) if (until <= Date.now()) entries.delete(key)
      entries.set(name, { value, until: Date.now() + lifetime })
      return name
    },
    get: (name: string) => {
      const found = entries.get(name)
      return found && found.until > Date.now() ? found.value : undefined
    },
    remove: (name: string) => entries.delete(name),
  }
}

type Vault<Value> = ReturnType<typeof createVault<Value>>

const carriedParameters = ['client_id', 'redirect_uri', 'state', 'scope', 'code_challenge', 'code_challenge_method']

const isFromClient = (client: RegisteredClient, parameters: URLSearchParams) =>
  parameters.get('client_id') === client.clientId && parameters.get('redirect_uri') === client.redirectUri

const ask = (client: RegisteredClient, request: IncomingMessage, response: ServerResponse) => {
  const parameters = new URL(request.url ?? '/', 'http://localhost').searchParams
  if (!isFromClient(client, parameters))
    return client.page.sendProblem(response, 'The application that sent you here is unknown.')
  const hidden = Object.fromEntries(carriedParameters.map((name) => [name, parameters.get(name) ?? '']))
  const returnsTo = new URL(client.redirectUri).origin
  return client.page.sendChooser(response, { action: authorizePath, hidden, returnsTo })
}

const choose = async (
  client: RegisteredClient,
  codes: Vault<Grant>,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  const form = await readForm(request)
  if (!isFromClient(client, form))
    return client.page.sendProblem(response, 'The application that sent you here is unknown.')
  const person = personByKey(form.get('person'))
  const answer = new URL(client.redirectUri)
  if (person) answer.searchParams.set('code', codes.put({ person, challenge: form.get('code_challenge') ?? '' }))
  else answer.searchParams.set('error', 'access_denied')
  answer.searchParams.set('state', form.get('state') ?? '')
  response.writeHead(302, { location: answer.href, 'cache-control': 'no-store' }).end()
}

/** Exchanges a code. Errors come with status 200, as from GitHub. */
const exchange = async (
  client: RegisteredClient,
  codes: Vault<Grant>,
  tokens: Vault<Person>,
  request: IncomingMessage,
  response: ServerResponse,
) => {
  const form = await readForm(request)
  const code = form.get('code') ?? ''
  const grant = codes.get(code)
  codes.remove(code)
  if (form.get('client_id') !== client.clientId || form.get('client_secret') !== client.clientSecret)
    return sendJson(response, { error: 'incorrect_client_credentials' })
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url')
  if (!grant || grant.challenge !== challenge) return sendJson(response, { error: 'bad_verification_code' })
  return sendJson(response, { access_token: tokens.put(grant.person), token_type: 'bearer', scope: 'user:email' })
}

const answerAs = (
  tokens: Vault<Person>,
  request: IncomingMessage,
  response: ServerResponse,
  describe: (person: Person) => unknown,
) => {
  const [, token = ''] = /^bearer (.+)$/i.exec(request.headers.authorization ?? '') ?? []
  const person = tokens.get(token)
  return person ? sendJson(response, describe(person)) : sendJson(response, { message: 'Bad credentials' }, 401)
}

const userOf = ({ number, login, name }: Person) => ({ id: number, login, name, email: null })

const emailsOf = ({ email, emailVerified }: Person) =>
  email === undefined ? [] : [{ email, primary: true, verified: emailVerified, visibility: 'private' }]
