// A program that uses the MCP server with the official SDK. It was registered nowhere: CLIENT_DOCUMENT is the address of its document
// (docs/agents.md). Without one, CLIENT_ID is that of an application that was added with --native.
import { createServer } from 'node:http'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

const { RESOURCE = '', CLIENT_DOCUMENT, CLIENT_ID, CALLBACK_PORT = '4111' } = process.env
const redirectUrl = `http://127.0.0.1:${CALLBACK_PORT}/callback`

/** A real program keeps these where nobody else can read them. @type {Record<string, any>} */
const kept = { ...(CLIENT_ID && { client: { client_id: CLIENT_ID } }) }

/** @type {import('@modelcontextprotocol/sdk/client/auth.js').OAuthClientProvider} */
const provider = {
  redirectUrl,
  clientMetadata: {
    redirect_uris: [redirectUrl],
    client_name: 'Notes in the terminal',
    token_endpoint_auth_method: 'none',
  },
  ...(CLIENT_DOCUMENT && { clientMetadataUrl: CLIENT_DOCUMENT }),
  clientInformation: () => kept.client,
  saveClientInformation: (client) => void Object.assign(kept, { client }),
  tokens: () => kept.tokens,
  saveTokens: (tokens) => void Object.assign(kept, { tokens }),
  codeVerifier: () => kept.verifier,
  saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
  // The session was ended, or the tokens are too old: without this, the client throws InvalidGrantError instead of asking the user again.
  invalidateCredentials: (what) => {
    if (what === 'all' || what === 'tokens') delete kept.tokens
  },
  redirectToAuthorization: (address) => console.log(`Open ${address.href}`),
}

/** Waits until the browser comes back with a code. */
const codeFromBrowser = () =>
  new Promise((resolve) => {
    const server = createServer((request, response) => {
      const code = new URL(request.url ?? '/', redirectUrl).searchParams.get('code')
      response.end(code ? 'Signed in. You can close this window.' : 'Not signed in.')
      server.close()
      resolve(code)
    }).listen(Number(CALLBACK_PORT), '127.0.0.1')
  })

const connect = async () => {
  const client = new Client({ name: 'notes-client', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(RESOURCE), { authProvider: provider })
  try {
    await client.connect(transport)
    return client
  } catch (error) {
    if (!(error instanceof UnauthorizedError)) throw error
    await transport.finishAuth(await codeFromBrowser())
    return connect()
  }
}

const client = await connect()
await client.callTool({ name: 'note' })
const { content } = await client.callTool({ name: 'notes' })
console.log(`Your notes: ${JSON.stringify(content)}`)
await client.close()
