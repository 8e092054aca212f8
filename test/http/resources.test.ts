import { createLocalJWKSet, createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Resource } from '../../src/openid/resources/resource.js'
import { applicationChangesOf } from '../support/applications.js'
import { postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { type OpenidApplication, openidApplication } from '../support/openid-application.js'
import { addResource, resourceChangesOf } from '../support/resources.js'

// Tokens for one API alone: RFC 8707 and RFC 9068, as outside libraries check them.

const operator = { ip: 'command line', userAgent: 'test' }
const resource = 'https://mcp.example.com/mcp'

let latchkey: Latchkey
let helper: OpenidApplication
let wiki: Resource
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.app.rooms.groups.add('staff', operator)
  wiki = await addResource(latchkey)
  await addResource(latchkey, { address: 'https://api.example.com', name: 'Api', scopes: [], algorithm: 'RS256' })
  await addResource(latchkey, {
    address: 'https://staff.example.com/x',
    name: 'Staff only',
    access: 'groups',
    groups: ['staff'],
    scopes: [
      { name: 'read', description: null },
      { name: 'groups', description: null },
    ],
  })
  helper = await openidApplication(latchkey, {
    name: 'Helper',
    kind: 'native',
    home: 'http://127.0.0.1/',
    redirectAddresses: ['http://127.0.0.1/callback'],
    logoutAddresses: [],
  })
})
afterAll(() => latchkey.stop())

type Sent = Record<string, string | null>
const forWiki: Sent = { resource, scope: 'read write', nonce: null }

/** The code of a user who agrees. */
const codeOf = async (tab: Browser, changed: Sent = forWiki) => {
  const asked = await helper.answer(tab, await helper.ask(tab, changed), 'continue')
  const { code = '' } = helper.told(asked)
  return { code, code_verifier: asked.sent.verifier, redirect_uri: helper.redirectAddress }
}
const token = async (form: Record<string, string> | string) =>
  (await postForm(latchkey.url, '/api/auth/token', form)).body
const redeem = async (code: Awaited<ReturnType<typeof codeOf>>, more: Record<string, string> = {}) =>
  token({ grant_type: 'authorization_code', client_id: helper.application.id, ...code, ...more })
const refresh = (refreshToken = '', more: Record<string, string> = {}) =>
  token({ grant_type: 'refresh_token', client_id: helper.application.id, refresh_token: refreshToken, ...more })
const tokensFor = async (tab: Browser, changed: Sent = forWiki) => redeem(await codeOf(tab, changed))

/** What the authorization endpoint answers without a question: an error, or the next step. */
const outcomeOf = async (tab: Browser, changed: Sent) => {
  const asked = await helper.ask(tab, changed)
  return asked.state.location === undefined ? asked.state.next : helper.told(asked).error
}
const idOf = async (tab: Browser) => ((await tab.get('/api/auth/me')).body as { user: { id: string } }).user.id
const groupsOf = async (tab: Browser) => {
  const context = { userId: await idOf(tab), client: operator }
  return async (add: string[], remove: string[]) => {
    await latchkey.app.rooms.groupChanges.change(context, { add, remove })
    await tab.post('/api/auth/refresh')
  }
}
type Listed = { id: string; application: string | null; resource: string | null }
const own = async (tab: Browser) =>
  ((await tab.get('/api/auth/sessions')).body.sessions as Listed[]).filter(
    ({ application }) => application === 'Helper',
  )

describe('an authorization request with a resource', () => {
  let tab: Browser
  beforeAll(async () => {
    tab = await latchkey.signedUp('asker')
  })

  it('needs no openid, and shows the program, where it runs, the resource and each scope in the words of the operator', async () => {
    const asked = await helper.ask(tab, { ...forWiki, scope: 'write email bogus' })
    expect(asked.state).toMatchObject({
      next: 'consent',
      application: { name: 'Helper' },
      scopes: ['email'],
      ownSession: { destination: { kind: 'computer' }, days: 365 },
      resource: { name: 'Wiki tools', address: resource, scopes: [{ name: 'write', description: 'Change pages' }] },
    })
  })

  it.each([
    ['no scope at all', { ...forWiki, scope: null }, 'consent'],
    ['none of its scopes', { ...forWiki, scope: 'openid email' }, 'invalid_scope'],
    ['a scope that it does not have', { ...forWiki, scope: 'delete' }, 'invalid_scope'],
    ['an unknown one', { ...forWiki, resource: 'https://other.example.com/mcp' }, 'invalid_target'],
    ['one with a fragment', { ...forWiki, resource: `${resource}#x` }, 'invalid_target'],
    ['one that is no address', { ...forWiki, resource: 'mcp' }, 'invalid_target'],
    ['one below it', { ...forWiki, resource: `${resource}/` }, 'invalid_target'],
    ['one in other letters', { ...forWiki, resource: 'HTTPS://MCP.example.com:443/mcp' }, 'consent'],
    ['one whose host has a slash more', { resource: 'https://api.example.com/', scope: null }, 'consent'],
    ['prompt=none', { ...forWiki, prompt: 'none' }, 'consent_required'],
    ['no resource', { scope: 'read' }, 'invalid_scope'],
    ['a rule that the user does not meet', { resource: 'https://staff.example.com/x', scope: 'read' }, 'no_access'],
  ] as const)('%s: %s', async (_, changed, outcome) => {
    expect(await outcomeOf(tab, changed)).toBe(outcome)
  })

  it('that its user may not use is named, on the page and to the program', async () => {
    const asked = await helper.ask(tab, { resource: 'https://staff.example.com/x', scope: 'read' })
    expect(asked.state).toMatchObject({
      next: 'no_access',
      resource: { address: 'https://staff.example.com/x', scopes: [] },
    })
    const told = helper.told(await helper.answer(tab, asked, 'deny'))
    expect(told).toMatchObject({ error: 'access_denied', error_description: 'The user has no access to this resource' })
  })

  it('is refused with two resources, as every parameter is', async () => {
    const { parameters } = await helper.client.request(forWiki)
    parameters.append('resource', 'https://api.example.com')
    const { body } = await tab.post('/api/auth/authorization', { parameters: parameters.toString() })
    expect(new URL(String(body.location)).searchParams.get('error')).toBe('invalid_request')
    const twice = `grant_type=refresh_token&refresh_token=x&client_id=${helper.application.id}&resource=a&resource=b`
    expect(await token(twice)).toMatchObject({ error: 'invalid_request' })
  })

  it('asks each time, whatever was agreed to before and whatever the kind', async () => {
    await tokensFor(tab)
    expect(await outcomeOf(tab, forWiki)).toBe('consent')
    const site = await openidApplication(latchkey, { name: 'Site' })
    expect((await site.ask(tab, { resource, scope: 'read' })).state.next).toBe('consent')
    await expect(site.signIn(tab)).resolves.toMatchObject({ scope: 'openid' })
  })
})

describe('an access token for a resource', () => {
  it('is a signed one for it alone, which oauth4webapi takes', async () => {
    const tab = await latchkey.signedUp('ada')
    const answer = await tokensFor(tab, { ...forWiki, scope: 'read write email' })
    expect(answer).toMatchObject({ token_type: 'Bearer', expires_in: 300, scope: 'email read write' })
    expect(answer).not.toHaveProperty('id_token')
    const { access_token: accessToken = '' } = answer
    expect(decodeProtectedHeader(accessToken)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    const [session] = await own(tab)
    expect(session).toMatchObject({ application: 'Helper', resource: 'Wiki tools' })
    const claims = decodeJwt(accessToken)
    expect(claims).toEqual({
      iss: helper.issuer,
      aud: resource,
      sub: expect.any(String),
      email: 'ada@example.com',
      email_verified: true,
      client_id: helper.application.id,
      scope: 'email read write',
      sid: session?.id,
      gen: 0,
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: Number(claims.iat) + 300,
      auth_time: expect.any(Number),
      acr: '1',
    })
    const request = new Request(resource, { headers: { authorization: `Bearer ${accessToken}` } })
    const insecure = { [oauth.allowInsecureRequests]: true }
    await expect(oauth.validateJwtAccessToken(helper.server, request, resource, insecure)).resolves.toMatchObject({
      client_id: helper.application.id,
    })
    await expect(
      oauth.validateJwtAccessToken(helper.server, request, 'https://api.example.com', insecure),
    ).rejects.toThrow()
  })

  it('has the algorithm and the claims that its resource and its scopes ask for, and an ID token for openid', async () => {
    const tab = await latchkey.signedUp('rsa')
    const answer = await tokensFor(tab, { resource: 'https://api.example.com/', scope: 'openid profile', nonce: null })
    const { access_token: accessToken = '', id_token: idToken = '' } = answer
    expect(decodeProtectedHeader(accessToken).alg).toBe('RS256')
    expect(decodeJwt(accessToken)).toMatchObject({ aud: 'https://api.example.com', preferred_username: 'rsa' })
    const keys = createRemoteJWKSet(new URL(`${helper.issuer}/keys`))
    await jwtVerify(accessToken, keys, { issuer: helper.issuer, audience: 'https://api.example.com', typ: 'at+jwt' })
    await jwtVerify(idToken, keys, { issuer: helper.issuer, audience: helper.application.id })
  })

  it('opens nothing of Latchkey itself', async () => {
    const tab = await latchkey.signedUp('outside')
    const { access_token: accessToken = '' } = await tokensFor(tab, { ...forWiki, scope: 'read profile email' })
    const authorization = { authorization: `Bearer ${accessToken}` }
    for (const path of ['/api/auth/me', '/api/auth/verify', '/api/auth/userinfo', '/api/auth/sessions']) {
      const byHeader = await fetch(new URL(path, latchkey.url), { headers: authorization })
      const cookie = `access_token=${accessToken}; refresh_token=${accessToken}`
      const byCookie = await fetch(new URL(path, latchkey.url), { headers: { cookie } })
      expect([path, byHeader.status, byCookie.status]).toEqual([path, 401, 401])
    }
    const hint = `${helper.issuer}/end-session?id_token_hint=${accessToken}`
    expect((await helper.endSession(tab, Object.fromEntries(new URL(hint).searchParams))).problem).toBe('invalid_hint')
    const published = (await (await fetch(new URL('/.well-known/jwks.json', latchkey.url))).json()) as { keys: [] }
    await expect(jwtVerify(accessToken, createLocalJWKSet(published))).rejects.toThrow()
  })
})

describe('the token endpoint', () => {
  it('refuses another resource and uses nothing up, for a code and for a refresh', async () => {
    const tab = await latchkey.signedUp('other')
    const code = await codeOf(tab)
    expect(await redeem(code, { resource: 'https://api.example.com' })).toMatchObject({ error: 'invalid_target' })
    expect(await redeem(code, { resource: 'nonsense' })).toMatchObject({ error: 'invalid_target' })
    const tokens = await redeem(code, { resource })
    expect(tokens.access_token).toEqual(expect.any(String))
    expect(await refresh(tokens.refresh_token, { resource: 'https://api.example.com' })).toMatchObject({
      error: 'invalid_target',
    })
    const next = await refresh(tokens.refresh_token, { resource: 'https://MCP.example.com/mcp' })
    expect(decodeJwt(next.access_token ?? '')).toMatchObject({ aud: resource, scope: 'read write' })
    const narrowed = await refresh(next.refresh_token, { scope: 'read bogus' })
    expect(decodeJwt(narrowed.access_token ?? '')).toMatchObject({ scope: 'read' })
    expect(await refresh(narrowed.refresh_token, { scope: 'openid' })).toMatchObject({ error: 'invalid_scope' })
    expect((await refresh(narrowed.refresh_token)).scope).toBe('read write')
  })

  it('gives no token for a resource to a code that was made without', async () => {
    const tab = await latchkey.signedUp('without')
    const code = await codeOf(tab, { scope: 'openid' })
    expect(await redeem(code, { resource })).toMatchObject({ error: 'invalid_target' })
    const tokens = await redeem(code)
    expect(tokens.access_token).toMatch(/^[\w-]{43}$/)
    expect(await refresh(tokens.refresh_token, { resource })).toMatchObject({ error: 'invalid_target' })
    expect((await refresh(tokens.refresh_token)).access_token).toMatch(/^[\w-]{43}$/)
  })

  it('gives a device none', async () => {
    const tv = await openidApplication(latchkey, {
      name: 'Tv',
      kind: 'native',
      home: 'tv.example:/',
      redirectAddresses: ['tv.example:/cb'],
      logoutAddresses: [],
      deviceFlow: true,
    })
    const form = { client_id: tv.application.id, scope: 'openid', resource }
    expect((await postForm(latchkey.url, '/api/auth/device', form)).body).toMatchObject({ error: 'invalid_target' })
    const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: 'x' }
    expect(await token({ ...grant, client_id: tv.application.id, resource })).toMatchObject({ error: 'invalid_target' })
  })
})

describe('the session of a program for a resource', () => {
  const ended = { error: 'invalid_grant' }

  it('ends with one click in the list of sessions, and with the use of the application', async () => {
    const tab = await latchkey.signedUp('clicker')
    const first = await tokensFor(tab)
    await tab.remove(`/api/auth/sessions/${(await own(tab))[0]?.id}`)
    expect(await refresh(first.refresh_token)).toMatchObject(ended)
    const second = await tokensFor(tab)
    expect((await tab.remove(`/api/auth/applications/${helper.application.id}`)).status).toBe(204)
    expect(await refresh(second.refresh_token)).toMatchObject(ended)
    expect(await own(tab)).toEqual([])
  })

  it('ends with the group that the resource needs, and a change of other groups makes its tokens anew', async () => {
    const tab = await latchkey.signedUp('member')
    const change = await groupsOf(tab)
    await latchkey.app.rooms.groups.add('guests', operator)
    await change(['staff'], [])
    const tokens = await tokensFor(tab, { resource: 'https://staff.example.com/x', scope: null, nonce: null })
    expect(decodeJwt(tokens.access_token ?? '')).toMatchObject({ gen: 0, groups: ['staff'], scope: 'read groups' })
    await change(['guests'], [])
    const next = await refresh(tokens.refresh_token)
    expect(decodeJwt(next.access_token ?? '')).toMatchObject({ gen: 1, groups: ['guests', 'staff'] })
    await change([], ['staff'])
    expect(await refresh(next.refresh_token, { resource: 'https://staff.example.com/x' })).toMatchObject(ended)
    expect(await own(tab)).toEqual([])
  })

  it('ends for a user who loses the group between the code and its use', async () => {
    const tab = await latchkey.signedUp('between')
    const change = await groupsOf(tab)
    await change(['staff'], [])
    const code = await codeOf(tab, { resource: 'https://staff.example.com/x', scope: 'read', nonce: null })
    await change([], ['staff'])
    expect(await redeem(code)).toMatchObject(ended)
    expect(await own(tab)).toEqual([])
  })

  it('loses the scopes that the resource loses, and ends with its rule and with the resource', async () => {
    const tab = await latchkey.signedUp('last')
    const changes = resourceChangesOf(latchkey)
    const tokens = await tokensFor(tab)
    await changes.change(wiki.id, { scopes: [{ name: 'read', description: 'Read pages' }] }, operator)
    const fewer = await refresh(tokens.refresh_token)
    expect(fewer.scope).toBe('read')
    await changes.change(wiki.id, { access: 'groups', groups: ['staff'] }, operator)
    expect(await refresh(fewer.refresh_token)).toMatchObject(ended)
    await changes.change(wiki.id, { access: 'everyone', groups: [], scopes: wiki.scopes }, operator)
    const again = await tokensFor(tab)
    const asked = await helper.ask(tab, forWiki)
    await changes.delete(wiki.id, operator)
    expect((await helper.answer(tab, asked, 'continue')).state.next).toBe('start_again')
    expect(await refresh(again.refresh_token)).toMatchObject(ended)
    wiki = await addResource(latchkey)
  })

  it('ends with the application and with the account', async () => {
    const other = await openidApplication(latchkey, {
      name: 'Short',
      kind: 'native',
      home: 'http://127.0.0.1/',
      redirectAddresses: ['http://127.0.0.1/callback'],
      logoutAddresses: [],
    })
    const tab = await latchkey.signedUp('gone')
    await other.answer(tab, await other.ask(tab, forWiki), 'continue')
    await applicationChangesOf(latchkey).delete(other.application.id, operator, { evenIfUsed: true })
    expect(await own(tab)).toEqual([])
    const tokens = await tokensFor(tab)
    await latchkey.app.rooms.operatorChanges.disable({ userId: await idOf(tab), client: operator })
    expect(await refresh(tokens.refresh_token)).toMatchObject(ended)
  })
})

describe('the discovery document', () => {
  it('is at the place of RFC 8414, too, and any page may read it', async () => {
    const places = ['/api/auth/.well-known/openid-configuration', '/.well-known/oauth-authorization-server/api/auth']
    const [openid, oauthServer] = await Promise.all(
      places.map(async (place) => {
        const preflight = await fetch(new URL(place, latchkey.url), {
          method: 'OPTIONS',
          headers: { origin: 'https://x.example', 'access-control-request-headers': 'mcp-protocol-version' },
        })
        expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*'])
        const answer = await fetch(new URL(place, latchkey.url))
        expect(answer.headers.get('access-control-allow-origin')).toBe('*')
        return answer.json() as Promise<Record<string, unknown>>
      }),
    )
    expect(oauthServer).toEqual(openid)
    expect(oauthServer).toMatchObject({
      client_id_metadata_document_supported: false,
      scopes_supported: expect.arrayContaining(['offline_access']),
      token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
    })
    const found = await oauth.discoveryRequest(new URL(helper.issuer), {
      algorithm: 'oauth2',
      [oauth.allowInsecureRequests]: true,
    })
    expect((await oauth.processDiscoveryResponse(new URL(helper.issuer), found)).issuer).toBe(helper.issuer)
  })
})
