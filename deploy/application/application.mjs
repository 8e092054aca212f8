// A small sample application. It has no code for passwords or sessions. The proxy in front of it names the user in
// headers, renews the session, and refuses everyone who is not signed in.
import { createServer } from 'node:http'

const escaped = (/** @type {string} */ text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** Names are percent-encoded. One that is not came past the proxy, and must not end this process. */
const decoded = (/** @type {string} */ text) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const server = createServer((request, response) => {
  const id = String(request.headers['x-auth-user-id'] ?? '')
  // Only a request that passed the access check of the proxy names a user. Never serve another one as a guest.
  if (id === '') return response.writeHead(403, { 'content-type': 'text/plain' }).end('This request names no user.\n')
  const name = decoded(String(request.headers['x-auth-username'] ?? ''))
  response.setHeader('content-type', 'text/html; charset=utf-8')
  return response.end(`<!doctype html><html lang="en"><title>Application</title>
<h1>Hello, ${escaped(name)}</h1>
<p>Your user id is <code>${escaped(id)}</code>. This page is <code>${escaped(request.url ?? '')}</code>.</p>
<p><a href="/api/auth/account-page">Your account and sign-out</a></p>
</html>`)
})
// Node drops all header lines after the 2,000th without a word, and those of the proxy may come last.
server.maxHeadersCount = 0

server.listen(Number(process.env.PORT ?? 8080), process.env.HOST ?? '127.0.0.1')
process.once('SIGTERM', () => server.close())
