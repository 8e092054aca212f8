// A small application with Express. It has no code for passwords or sessions: a guard checks each request, renews the session, and
// sends visitors to sign in.
import { createVerifier } from '@latchkey/verify'
import { authOf, expressGuard } from '@latchkey/verify/express'
import express from 'express'

const { PORT = '4000', APP_URL = '', LATCHKEY_URL = '', LATCHKEY_SERVICE_KEY = '' } = process.env

const verifier = createVerifier({
  publicUrl: LATCHKEY_URL,
  jwks: true,
  // With the list of ended sessions, a sign-out counts here too, within two seconds.
  revocations: { serviceKey: LATCHKEY_SERVICE_KEY },
})

/** The notes of each user, by the id of the user, which never changes. @type {Map<string, string[]>} */
const notes = new Map()

/** @type {(text: string) => string} */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** @type {(content: string) => string} */
const page = (content) => `<!doctype html><html lang="en"><title>Notes</title>${content}</html>`

const app = express()

// Everyone sees what comes before the guard.
app.get('/', (_, response) => {
  response.send(page('<h1>Notes</h1><p><a href="/notes">Your notes</a></p>'))
})

app.use(expressGuard(verifier, { appUrl: APP_URL }))
app.use((_, response, next) => {
  // Pages of a user are in no cache, and not behind the Back button after a sign-out.
  response.set('Cache-Control', 'no-store')
  next()
})

app.get('/notes', (request, response) => {
  const { user } = authOf(request)
  const list = (notes.get(user.id) ?? []).map((note) => `<li>${escaped(note)}</li>`).join('')
  response.send(
    page(`<h1>Notes of ${escaped(user.username)}</h1><ul>${list}</ul>
<form method="post"><label>Note <input name="note" required></label> <button>Add</button></form>
<p><a href="${LATCHKEY_URL}/dashboard">Your account and sign-out</a></p>`),
  )
})

// Other hosts of your domain can send forms with the user's cookies: a form must come from our own pages.
app.post('/notes', express.urlencoded({ extended: false, limit: '10kb' }), (request, response) => {
  if (request.headers.origin !== APP_URL)
    return void response.status(403).send(page('<p>This form came from another site.</p>'))
  const { user } = authOf(request)
  notes.set(user.id, [...(notes.get(user.id) ?? []), String(request.body.note)].slice(-100))
  return response.redirect(303, '/notes')
})

await verifier.ready()
const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(`Express is ready at ${APP_URL}`))
// Node drops all header lines after the 2,000th. The guard refuses a request without its Cookie header, but other code may read more.
server.maxHeadersCount = 0
process.once('SIGTERM', () => {
  verifier.close()
  server.close()
  server.closeAllConnections()
})
