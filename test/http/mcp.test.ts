import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { resourceGuard } from '@latchkey/verify/resource'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { OAuthClientInformation, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { decodeJwt } from 'jose'
import * as oauth from 'oauth4webapi'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { addApplication } from '../support/applications.js'
import type { Browser } from '../support/client.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addResource } from '../support/resources.js'
import { freePort } from '../support/servers/server.js'
import { until } from '../support/until.js'

// The example as it is, and the client of the official SDK: what Claude, VS Code and others do.

const home = fileURLToPath(new URL('../..', import.meta.url))
const children: ChildProcess[] = []

const start = (file: string, env: Record<string, string>) => {
  const child = spawn(process.execPath, [join(home, file)], {
    cwd: home,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(child)
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const says = async (pattern: RegExp) => {
    await until(`it says ${pattern}`, () => lines.some((line) => pattern.test(line)))
    return lines.find((line) => pattern.test(line)) ?? ''
  }
  return { child, says }
}

let folder: string
let documents: DocumentServer
let latchkey: Latchkey
let resource: string
let tab: Browser
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-mcp-'))
  documents = await startDocumentServer(folder)
  const { key, line } = newServiceKey('mcp', { scopes: ['revocations:read'] })
  const keysFile = join(folder, 'keys')
  await writeFile(keysFile, `${line}\n`)
  latchkey = await startLatchkey({
    settings: {
      CLIENT_DOCUMENTS: documents.host,
      CLIENT_DOCUMENTS_ALLOW_PRIVATE: 'true',
      SERVICE_KEYS_FILE: keysFile,
    },
  })
  const port = await freePort()
  resource = `http://127.0.0.1:${port}/mcp`
  await addResource(latchkey, { address: resource, name: 'Notes' })
  tab = await latchkey.signedUp('ada')
  const settings = { PORT: `${port}`, RESOURCE: resource, LATCHKEY_URL: latchkey.url, LATCHKEY_SERVICE_KEY: key }
  await start('examples/mcp/server.mjs', settings).says(/is ready/)
})
afterAll(async () => {
  for (const child of children) {
    child.kill()
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await latchkey.stop()
  await documents.stop()
  await rm(folder, { recursive: true })
})

/** What the user does in the browser. Returns where it is sent, with the code. */
const agree = async (address: URL) => {
  type Body = { request?: string; user?: { id: string }; location?: string; resource?: { scopes: { name: string }[] } }
  const { body } = await tab.post('/api/auth/authorization', { parameters: address.searchParams.toString() })
  const asked = body as Body
  const decision = { request: asked.request, user: asked.user?.id, answer: 'continue' }
  const answered = (await tab.act('/api/auth/authorization/answer', decision)).body as Body
  return new URL(String(answered.location))
}

const createProvider = (given: { document?: string; client?: OAuthClientInformation }) => {
  const kept: { client?: OAuthClientInformation; tokens?: OAuthTokens; verifier?: string; address?: URL } = {}
  if (given.client) kept.client = given.client
  const redirectUrl = 'http://127.0.0.1:4123/callback'
  const provider: OAuthClientProvider = {
    redirectUrl,
    clientMetadata: { redirect_uris: [redirectUrl], client_name: 'Judge', token_endpoint_auth_method: 'none' },
    ...(given.document !== undefined && { clientMetadataUrl: given.document }),
    clientInformation: () => kept.client,
    saveClientInformation: (client) => {
      kept.client = client
    },
    tokens: () => kept.tokens,
    saveTokens: (tokens) => {
      kept.tokens = tokens
    },
    codeVerifier: () => kept.verifier ?? '',
    saveCodeVerifier: (verifier) => {
      kept.verifier = verifier
    },
    redirectToAuthorization: (address) => {
      kept.address = address
    },
    invalidateCredentials: (what) => {
      if (what === 'all' || what === 'tokens') delete kept.tokens
      if (what === 'all' || what === 'client') delete kept.client
    },
  }
  return { provider, kept }
}

const connect = async (provider: OAuthClientProvider, address = resource) => {
  const client = new Client({ name: 'judge', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: provider })
  try {
    await client.connect(transport)
    return { client, transport }
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    return { client: undefined, transport }
  }
}

/** Signs in, and gives the text that the tool answers. */
const signIn = async ({ provider, kept }: ReturnType<typeof createProvider>) => {
  const { client, transport } = await connect(provider)
  if (client) throw new Error('Nobody was asked')
  const address = kept.address ?? new URL('about:blank')
  const scope = address.searchParams.get('scope')
  await transport.finishAuth((await agree(address)).searchParams.get('code') ?? '')
  return { scope, who: await whoAmI(provider) }
}
const whoAmI = async (provider: OAuthClientProvider) => {
  const { client } = await connect(provider)
  if (!client) return undefined
  const { content } = (await client.callTool({ name: 'whoami' })) as { content: { text: string }[] }
  await client.close()
  return content[0]?.text
}

const ways = [
  ['by its document', () => createProvider({ document: documents.serve('/judge.json') })],
  [
    'by an application that an operator has added',
    async () => {
      const addresses = { home: 'http://127.0.0.1/', redirectAddresses: ['http://127.0.0.1/callback'] }
      const { id } = await addApplication(latchkey, { name: 'Judge', kind: 'native', ...addresses })
      return createProvider({ client: { client_id: id } })
    },
  ],
] as const

describe.each(ways)('the client of the official SDK, known %s', (_, create) => {
  it('signs in with the scopes of the 401, refreshes, is ended within two seconds, and signs in again', async () => {
    const judged = await create()
    const { provider, kept } = judged
    const { scope, who } = await signIn(judged)
    const claims = decodeJwt(kept.tokens?.access_token ?? '')
    expect([scope, who, claims.aud]).toEqual(['read write', claims.sub, resource])

    const before = kept.tokens
    kept.tokens = { ...before, token_type: 'Bearer', access_token: 'eyJhbGciOiJFUzI1NiJ9.e30.AAAA' }
    expect(await whoAmI(provider)).toBe(claims.sub)
    expect(kept.tokens?.refresh_token).not.toBe(before?.refresh_token)

    await tab.remove(`/api/auth/sessions/${String(claims.sid)}`)
    delete kept.address
    await until('it is asked to sign in', async () => (await whoAmI(provider)) === undefined, 2_500)
    expect(kept.address).toBeInstanceOf(URL)
    expect((await signIn(judged)).who).toBe(claims.sub)
  })
})

it('a stream that is open ends within two seconds of the session of its program', async () => {
  const judged = createProvider({ document: documents.serve('/streaming.json') })
  await signIn(judged)
  const access = judged.kept.tokens?.access_token ?? ''
  const headers = { authorization: `Bearer ${access}`, accept: 'text/event-stream' }
  const stream = await fetch(resource, { headers })
  expect([stream.status, stream.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  let isOpen = true
  const reading = stream.text().catch(() => undefined)
  void reading.finally(() => {
    isOpen = false
  })
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(isOpen).toBe(true)
  await tab.remove(`/api/auth/sessions/${String(decodeJwt(access).sid)}`)
  await until('the stream ends', () => !isOpen, 2_500)
})

describe('the client of the official SDK at a tool that needs one scope more', () => {
  let server: ReturnType<typeof createServer>
  let address: string
  beforeAll(async () => {
    const port = await freePort()
    address = `http://127.0.0.1:${port}/mcp`
    await addResource(latchkey, { address, name: 'Pages' })
    const guard = resourceGuard({ publicUrl: latchkey.url, resource: address, scopes: ['read', 'write'] })
    const writing = guard.needing('write')
    const serve = async (request: IncomingMessage, response: ServerResponse) => {
      const body = request.method === 'POST' ? ((await json(request)) as { method: string }) : undefined
      const { goOn } = await (body?.method === 'tools/call' ? writing : guard).node(request, response)
      if (!goOn) return
      const tools = new McpServer({ name: 'pages', version: '1' })
      tools.registerTool('change', {}, () => ({ content: [{ type: 'text', text: 'Changed' }] }))
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      response.on('close', () => void transport.close())
      await tools.connect(transport)
      await transport.handleRequest(request, response, body)
    }
    server = createServer((request, response) => void serve(request, response)).listen(port, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  /** A program that has asked for less than the 401 told it. */
  const withRead = async () => {
    const { provider, kept } = createProvider({ document: documents.serve('/stepping.json') })
    const { transport } = await connect(provider, address)
    const asked = kept.address ?? new URL('about:blank')
    expect(asked.searchParams.get('scope')).toBe('read write')
    asked.searchParams.set('scope', 'read')
    await transport.finishAuth((await agree(asked)).searchParams.get('code') ?? '')
    delete kept.address
    const connected = await connect(provider, address)
    if (!connected.client) throw new Error('It was not let in')
    return { kept, client: connected.client, transport: connected.transport }
  }
  const change = async (client: Client) => {
    const { content } = (await client.callTool({ name: 'change' })) as { content: { text: string }[] }
    return content[0]?.text
  }

  it('only renews its tokens while it has a refresh token, and gives up', async () => {
    const { kept, client } = await withRead()
    const before = kept.tokens?.refresh_token
    await expect(change(client)).rejects.toThrow(/403 after trying upscoping/)
    expect([kept.address, kept.tokens?.scope]).toEqual([undefined, 'read'])
    expect(kept.tokens?.refresh_token).not.toBe(before)
    await client.close()
  })

  it.each([
    ['its refresh token, and asks for what it has and what is needed', 'refresh_token'],
    ['all of its tokens, and asks for what the 401 says', 'all'],
  ])('gets there once it drops %s', async (_, dropped) => {
    const { kept, client, transport } = await withRead()
    if (dropped === 'all') delete kept.tokens
    else delete kept.tokens?.refresh_token
    await expect(change(client)).rejects.toThrow(UnauthorizedError)
    expect(kept.address?.searchParams.get('scope')).toBe('read write')
    await transport.finishAuth((await agree(kept.address ?? new URL('about:blank'))).searchParams.get('code') ?? '')
    expect(await change(client)).toBe('Changed')
    await client.close()
  })
})

// RFC 9728, 8414, 8707 and 9068, each answer as the library checks it.
it('a client that knows nothing but the address of the server finds its way by the standards alone', async () => {
  const insecure = { [oauth.allowInsecureRequests]: true }
  const content = new Headers({ 'content-type': 'application/json', accept: 'application/json, text/event-stream' })
  const info = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'standards', version: '1' } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: info })
  const use = (token: string) =>
    oauth.protectedResourceRequest(token, 'POST', new URL(resource), content, body, insecure)
  const refused = await use('x').catch((error: unknown) => error)
  if (!(refused instanceof oauth.WWWAuthenticateChallengeError)) throw refused
  const [challenge] = refused.cause
  expect(challenge).toMatchObject({ scheme: 'bearer', parameters: { error: 'invalid_token', scope: 'read write' } })

  const described = await oauth.resourceDiscoveryRequest(new URL(resource), insecure)
  expect(described.url).toBe(challenge?.parameters.resource_metadata)
  const metadata = await oauth.processResourceDiscoveryResponse(new URL(resource), described)
  const issuer = new URL(metadata.authorization_servers?.[0] ?? 'about:blank')
  const found = await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(issuer, found)

  const client = { client_id: documents.serve('/standards.json') }
  const redirect = 'http://127.0.0.1:4123/callback'
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const address = new URL(server.authorization_endpoint ?? 'about:blank')
  address.search = new URLSearchParams({
    ...client,
    response_type: 'code',
    redirect_uri: redirect,
    scope: challenge?.parameters.scope ?? '',
    state,
    resource: metadata.resource,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString()
  const answer = oauth.validateAuthResponse(server, client, await agree(address), state)
  const target = { additionalParameters: { resource: metadata.resource }, ...insecure }
  const redeemed = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    answer,
    redirect,
    verifier,
    target,
  )
  const tokens = await oauth.processAuthorizationCodeResponse(server, client, redeemed)
  expect((await use(tokens.access_token)).status).toBe(200)

  const refreshed = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    tokens.refresh_token ?? '',
    target,
  )
  const next = await oauth.processRefreshTokenResponse(server, client, refreshed)
  expect((await use(next.access_token)).status).toBe(200)
  const request = new Request(resource, { headers: { authorization: `Bearer ${next.access_token}` } })
  const claims = await oauth.validateJwtAccessToken(server, request, metadata.resource, insecure)
  expect(claims).toMatchObject({ ...client, scope: 'read write' })
})

it('the client of the example signs in with its document, and uses the tools', async () => {
  const id = documents.serve('/terminal.json', { client_name: 'Notes in the terminal' })
  const callbackPort = await freePort()
  const env = { RESOURCE: resource, CLIENT_DOCUMENT: id, CALLBACK_PORT: `${callbackPort}` }
  const { says } = start('examples/mcp/client.mjs', env)
  const [, address = ''] = /^Open (\S+)$/.exec(await says(/^Open /)) ?? []
  const page = await fetch(await agree(new URL(address)))
  expect(await page.text()).toMatch(/You can close this window/)
  expect(await says(/^Your notes: /)).toMatch(/20\d\d-/)
})
