// The application's own API: notes in memory. In production, a proxy asks Latchkey about each request and passes the user on in
// headers (docs/forward-auth.md). Here the API asks by itself.
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'

/** @param {string} latchkey the address of the service */
export const createApi = (latchkey) => {
  /** @type {Map<string, string[]>} */
  const notes = new Map()

  /** @type {(request: import('node:http').IncomingMessage) => Promise<{ status: number, body?: string[] }>} */
  const answer = async (request) => {
    const headers = { cookie: request.headers.cookie ?? '' }
    const check = await fetch(`${latchkey}/api/auth/verify`, { headers })
    const userId = check.headers.get('x-auth-user-id')
    if (!userId) return { status: check.status === 401 ? 401 : 503 }
    const own = notes.get(userId) ?? []
    if (request.method === 'POST') own.push(await text(request))
    notes.set(userId, own)
    return { status: 200, body: own }
  }

  const server = createServer((request, response) => {
    void answer(request)
      .catch(() => ({ status: 503, body: undefined }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
        response.end(JSON.stringify(body ?? null))
      })
  })
  // Node drops all header lines after the 2,000th. Here the Cookie header would be missing then.
  server.maxHeadersCount = 0
  return server
}
