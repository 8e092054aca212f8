// A small application with Express that signs its users in with Latchkey, on any domain.
import { openidClient } from '@latchkey/verify/openid'
import express from 'express'

const { PORT = '8080', APP_URL = '', ISSUER = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env

const latchkey = openidClient({
  issuer: ISSUER,
  clientId: CLIENT_ID,
  clientSecret: CLIENT_SECRET,
  redirectUri: `${APP_URL}/callback`,
})

/** @type {(text: string) => string} */
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const app = express()
// It answers /sign-in, /callback, /sign-out and /logged-out. With the last one, a session that ends at Latchkey ends here too.
app.use(latchkey.middleware)
app.get('/', async (request, response) => {
  const user = await latchkey.user(request)
  // Pages of a user are in no cache, and not behind the Back button after a sign-out.
  response.set('Cache-Control', 'no-store')
  if (!user) return void response.send('<p>Signed out</p><a href="/sign-in">Sign in</a>')
  const groups = user.groups.length > 0 ? `, in ${escaped(user.groups.join(', '))}` : ''
  return void response.send(
    `<p>Signed in as ${escaped(user.username ?? user.id)}${groups}</p><form method="post" action="/sign-out"><button>Sign out</button></form>`,
  )
})
app.get('/notes', async (request, response) => {
  if (!(await latchkey.user(request))) return response.redirect(latchkey.signInUrl('/notes'))
  return void response.set('Cache-Control', 'no-store').send('<p>Only users read this</p>')
})

const server = app.listen(Number(PORT), '127.0.0.1', () => console.log(`The application is ready at ${APP_URL}`))
process.once('SIGTERM', () => server.close())
