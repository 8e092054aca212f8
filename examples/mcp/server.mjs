// An MCP server with the official SDK. Latchkey signs its users in, whichever program they use: the guard says where a token can be
// had, checks it, and tells the tools whose it is.
import { createServer } from 'node:http'
import { resourceAuthOf, resourceGuard } from '@latchkey/verify/resource'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const { PORT = '4000', RESOURCE = '', LATCHKEY_URL = '', LATCHKEY_SERVICE_KEY = '' } = process.env

const guard = resourceGuard({
  publicUrl: LATCHKEY_URL,
  resource: RESOURCE,
  scopes: ['read', 'write'],
  // With the list of ended sessions, a program that its user has ended is out within two seconds.
  ...(LATCHKEY_SERVICE_KEY && { revocations: { serviceKey: LATCHKEY_SERVICE_KEY } }),
})

/** The notes of each user, by the id of the user, which never changes. @type {Map<string, string[]>} */
const notes = new Map()

/** @type {(text: string) => { content: { type: 'text', text: string }[] }} */
const answer = (text) => ({ content: [{ type: 'text', text }] })

/** The tools of one user. @type {(auth: import('@latchkey/verify/resource').ResourceAuth) => McpServer} */
const toolsOf = ({ user, scopes }) => {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('whoami', { description: 'Who you are here' }, () => answer(user.id))
  server.registerTool('notes', { description: 'Your notes' }, () => answer((notes.get(user.id) ?? []).join('\n')))
  if (scopes.includes('write'))
    server.registerTool('note', { description: 'Write down the time' }, () => {
      notes.set(user.id, [...(notes.get(user.id) ?? []), new Date().toISOString()].slice(-100))
      return answer('Noted')
    })
  return server
}

/** @type {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => Promise<void>} */
const serve = async (request, response) => {
  try {
    const { goOn } = await guard.node(request, response)
    if (!goOn) return
    const auth = resourceAuthOf(request)
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    response.on('close', () => void transport.close())
    // A stream stays open, so it ends with the session, and with the token: then the client opens it again with a new one.
    if (request.method === 'GET') auth.signal.addEventListener('abort', () => response.destroy())
    await toolsOf(auth).connect(transport)
    await transport.handleRequest(request, response)
  } catch (error) {
    console.error(error)
    if (!response.headersSent) response.writeHead(500).end()
  }
}

const server = createServer((request, response) => void serve(request, response))
server.listen(Number(PORT), '127.0.0.1', () => console.log(`The MCP server is ready at ${RESOURCE}`))
