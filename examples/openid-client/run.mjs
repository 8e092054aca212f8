// A small application with Express that signs its users in with Latchkey, on any domain.
import { randomUUID } from 'node:crypto'
import express from 'express'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as openid from 'openid-client'

const { PORT = '8080', APP_URL = '', ISSUER = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
const isLocal = ISSUER.startsWith('http:')
const options = isLocal ? { execute: [openid.allowInsecureRequests] } : {}
const latchkey = await openid.discovery(new URL(ISSUER), CLIENT_ID, CLIENT_SECRET, undefined, options)
const { issuer, jwks_uri = '' } = latchkey.serverMetadata()
const keys = createRemoteJWKSet(new URL(jwks_uri))

/** By the value of a cookie. Use the sessions of your framework. @type {Map<string, any>} */
const sessions = new Map()
/** @type {(request: express.Request) => any} */
const sessionOf = ({ headers }) => sessions.get(/\bapp=([\w-]+)/.exec(headers.cookie ?? '')?.[1] ?? '') ?? {}
/** Each step has a new name, so that no name from before the sign-in counts after it. @type {(response: express.Response, session: any) => express.Response} */
const begin = (response, session) => {
  const name = randomUUID()
  sessions.set(name, session)
  return response.cookie('app', name, { httpOnly: true, sameSite: 'lax', secure: !isLocal })
}

const app = express()
app.get('/', (request, response) => {
  const { user } = sessionOf(request)
  response.type('text').send(user ? `${user.preferred_username} (${user.groups})` : 'Signed out')
})
app.get('/sign-in', async (_, response) => {
  const verifier = openid.randomPKCECodeVerifier()
  const state = openid.randomState()
  const code_challenge = await openid.calculatePKCECodeChallenge(verifier)
  const asked = { redirect_uri: `${APP_URL}/callback`, scope: 'openid profile email groups', state }
  const address = openid.buildAuthorizationUrl(latchkey, { ...asked, code_challenge, code_challenge_method: 'S256' })
  begin(response, { verifier, state }).redirect(address.href)
})
app.get('/callback', async (request, response) => {
  const { verifier, state } = sessionOf(request)
  if (!state) throw new Error('No sign-in was begun in this browser, or it is finished')
  const expected = { pkceCodeVerifier: verifier, expectedState: state, idTokenExpected: true }
  const tokens = await openid.authorizationCodeGrant(latchkey, new URL(request.url, APP_URL), expected)
  begin(response, { user: tokens.claims(), idToken: tokens.id_token }).redirect('/')
})
app.post('/sign-out', (request, response) => {
  const asked = { id_token_hint: sessionOf(request).idToken, post_logout_redirect_uri: `${APP_URL}/` }
  begin(response, {}).redirect(303, openid.buildEndSessionUrl(latchkey, asked).href)
})
/** A session that ends at Latchkey, or the access of the user to this application, ends here too: a logout notice. */
app.post('/logged-out', express.urlencoded({ extended: false }), async (request, response) => {
  const expected = { issuer, audience: CLIENT_ID, typ: 'logout+jwt' }
  const notice = await jwtVerify(request.body?.logout_token ?? '', keys, expected).catch(() => undefined)
  // Not 400, which is final: perhaps the keys were only out of reach. The notice is sent again.
  if (!notice) return void response.status(503).end()
  const { sid, iat = 0 } = notice.payload
  for (const [name, { user }] of sessions) if (user?.sid === sid && user.iat <= iat) sessions.delete(name)
  response.end()
})
/** "Back", a second tab, and a user without access come here. What went wrong is for the log. @type {express.ErrorRequestHandler} */
const failed = (error, _request, response, _next) => {
  console.error(error)
  const isDenied = error.error === 'access_denied'
  const sentence = isDenied ? 'You have no access, or you have declined.' : 'The sign-in was not finished.'
  response
    .status(isDenied ? 403 : 400)
    .send(`<p>${sentence}</p><p><a href="/sign-in">Try again</a> <a href="/">Home</a></p>`)
}
app.use(failed)
const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(`The application is ready at ${APP_URL}`))
process.once('SIGTERM', () => server.close())
