import { fileURLToPath } from 'node:url'
import { custom, generators, Issuer } from 'openid-client5'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { designOf } from '../../src/lib/design.js'
import { startDevOpenIdProvider } from '../../src/providers/dev/openid-provider.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { type Changed, createOpenidClient, type OpenidClient, type SentRequest } from '../support/openid-client.js'
import { freePort, ownFolder, startServer } from '../support/servers/server.js'
import { createVisitor, type VisitorRequest } from '../support/visitor.js'

/** The page of oidc-provider here asks who the user is, and nothing else. */
const chooseUser = ({ server }: OpenidClient, { parameters }: SentRequest, redirectAddress: string) => {
  const visit = createVisitor()
  const follow = async (address: string, sent?: VisitorRequest): Promise<string> => {
    const location = (await visit(address, sent)).headers.get('location')
    if (location === null) return follow(address, { method: 'POST', body: new URLSearchParams({ person: 'ada' }) })
    return location.startsWith(redirectAddress) ? location : follow(new URL(location, address).href)
  }
  return follow(`${server.authorization_endpoint}?${parameters}`)
}

let latchkey: Latchkey
let notes: OpenidApplication
let tab: Browser
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { BACKCHANNEL_ALLOW_PRIVATE: 'true' } })
  // As the other provider signs.
  notes = await openidApplication(latchkey, { algorithm: 'ES256' })
  tab = await latchkey.signedUp('ada')
})
afterAll(() => latchkey.stop())

/** A provider, and a browser in which its page gives an answer for each request. */
type Judged = { secret: string; client: OpenidClient; authorize: (sent: SentRequest) => Promise<string> }

describe('the same application at oidc-provider', () => {
  let ours: Judged
  let theirs: Judged
  let close: () => Promise<void>
  beforeAll(async () => {
    const { redirectAddress } = notes
    const authorize: Judged['authorize'] = async ({ parameters }) =>
      String((await tab.post('/api/auth/authorization', { parameters: parameters.toString() })).body.location)
    ours = { secret: notes.application.secret, client: notes.client, authorize }
    const settings = { hostname: 'localhost', name: 'Other', design: designOf('#000000'), redirectUri: redirectAddress }
    const provider = await startDevOpenIdProvider(settings)
    close = provider.close
    const registered = { id: provider.clientId, secret: provider.clientSecret, redirectAddress }
    const client = await createOpenidClient(provider.issuer, registered)
    theirs = { secret: provider.clientSecret, client, authorize: (sent) => chooseUser(client, sent, redirectAddress) }
  })
  afterAll(() => close())

  it('signs in, and the tokens of both hold', async () => {
    const scope = 'openid profile email'
    const [here, there] = await Promise.all(
      [ours, theirs].map(async ({ client, authorize }) => {
        const sent = await client.request({ scope })
        const tokens = await client.redeem(sent, await authorize(sent))
        const { token_type, scope: given, claims } = tokens
        const { iss, aud, sub } = claims
        expect([iss, aud, sub]).toEqual([client.server.issuer, sent.parameters.get('client_id'), expect.any(String)])
        return { token_type, given, user: Object.keys(await client.userInfo(tokens)) }
      }),
    )
    expect(here).toMatchObject({ token_type: there?.token_type, given: there?.given })
    expect(here?.user).toEqual(expect.arrayContaining(['sub', 'email', 'email_verified']))
  })

  /** The answer of the token endpoint to a request that is right but for what was changed. */
  const tokenAnswer = async ({ client, secret, authorize }: Judged, changed: Changed) => {
    const sent = await client.request()
    const { code = '' } = Object.fromEntries(new URL(await authorize(sent)).searchParams)
    const { redirect_uri = '', client_id = '' } = Object.fromEntries(sent.parameters)
    const all = {
      grant_type: 'authorization_code',
      code,
      redirect_uri,
      code_verifier: sent.verifier,
      secret,
      ...changed,
    }
    const { secret: password, ...fields } = Object.fromEntries(
      Object.entries(all).filter(([, value]) => value !== null),
    )
    const answer = await fetch(client.server.token_endpoint ?? '', {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client_id}:${password}`)}` },
      body: new URLSearchParams(fields),
    })
    return { status: answer.status, error: (await answer.json()).error as string }
  }

  it.each<[string, Changed]>([
    ['a code that it does not know', { code: 'x'.repeat(43) }],
    ['no code', { code: null }],
    ['another redirect address', { redirect_uri: 'https://notes.example.com/other' }],
    ['another verifier', { code_verifier: 'x'.repeat(43) }],
    ['no verifier', { code_verifier: null }],
    ['a grant that it does not know', { grant_type: 'password' }],
    ['no grant', { grant_type: null }],
    ['a wrong secret', { secret: 'x'.repeat(43) }],
  ])('answers %s with the same error', async (_, changed) => {
    expect(await tokenAnswer(ours, changed)).toEqual(await tokenAnswer(theirs, changed))
  })
})

describe('openid-client 5', () => {
  it('signs in, asks who the user is, renews its tokens, and signs the user out', async () => {
    custom.setHttpOptionsDefaults({ timeout: 60_000 })
    const { id: client_id, secret: client_secret } = notes.application
    const client = new (await Issuer.discover(notes.issuer)).Client({
      client_id,
      client_secret,
      redirect_uris: [notes.redirectAddress],
      response_types: ['code'],
      id_token_signed_response_alg: 'ES256',
    })
    const kept = { state: generators.state(), nonce: generators.nonce(), code_verifier: generators.codeVerifier() }
    const { state, nonce, code_verifier } = kept
    const address = client.authorizationUrl({
      scope: 'openid profile email',
      state,
      nonce,
      code_challenge: generators.codeChallenge(code_verifier),
      code_challenge_method: 'S256',
    })
    const parameters = new URL(address).search.slice(1)
    const { body } = await tab.post('/api/auth/authorization', { parameters })
    const tokens = await client.callback(notes.redirectAddress, client.callbackParams(String(body.location)), kept)
    const expected = { preferred_username: 'ada', email: 'ada@example.com', email_verified: true }
    expect(tokens.claims()).toMatchObject(expected)
    expect(await client.userinfo(tokens)).toMatchObject(expected)
    const renewed = await client.refresh(tokens)
    expect(renewed.claims().sub).toBe(tokens.claims().sub)
    const out = new URL(client.endSessionUrl({ id_token_hint: renewed, post_logout_redirect_uri: notes.logoutAddress }))
    const ended = await notes.endSession(tab.copy(), Object.fromEntries(out.searchParams))
    expect(ended).toMatchObject({ next: 'done', location: notes.logoutAddress })
    await expect(client.userinfo(renewed)).rejects.toMatchObject({ error: 'invalid_token' })
  })
})

/** The example of an application with a server, with our page in front of it. */
const startExample = async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const { application, issuer, endSession } = await openidApplication(latchkey, {
    home: url,
    redirectAddresses: [`${url}/callback`],
    logoutAddresses: [`${url}/`],
    backchannelLogout: `${url}/logged-out`,
    name: 'Example',
    algorithm: 'ES256',
  })
  const { id, secret } = application
  const example = await startServer({
    command: process.execPath,
    args: [fileURLToPath(new URL('../../examples/openid-client/run.mjs', import.meta.url))],
    folder: await ownFolder('example'),
    env: { PORT: String(port), APP_URL: url, ISSUER: issuer, CLIENT_ID: id, CLIENT_SECRET: secret },
    ready: async () => (await fetch(url).catch(() => undefined)) !== undefined,
  })
  onTestFinished(example.stop)
  const visit = createVisitor()
  const parametersOf = async (path: string, sent?: VisitorRequest) =>
    new URL((await visit(`${url}${path}`, sent)).headers.get('location') ?? '').searchParams
  const begin = async (user: Browser) => {
    const parameters = (await parametersOf('/sign-in')).toString()
    return String((await user.post('/api/auth/authorization', { parameters })).body.location)
  }
  return { url, visit, parametersOf, begin, endSession }
}

it('the example of an application with a server signs a user in and out, and its pages say what failed', async () => {
  const { url, visit, parametersOf, begin, endSession } = await startExample()
  const user = await latchkey.signedUp('grace')
  const home = async () => (await visit(url)).text
  expect(await home()).toContain('Signed out')
  const refused = await visit(`${url}/notes`)
  expect(refused.headers.get('location')).toBe('/sign-in?returnTo=%2Fnotes')

  const denied = (await begin(user)).replace(/\bcode=[^&]+/, 'error=access_denied')
  expect(await visit(denied)).toMatchObject({ status: 403, text: expect.stringContaining('You have no access') })
  await visit(await begin(user))
  expect(await home()).toContain('Signed in as grace')
  const left = await parametersOf('/sign-out', { method: 'POST', headers: { origin: url } })
  expect(await endSession(user, Object.fromEntries(left))).toMatchObject({ next: 'done', location: `${url}/` })
  expect(await home()).toContain('Signed out')
})
