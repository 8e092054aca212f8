/** @jsxImportSource hono/jsx */
// Pages that are rendered on the server, with Hono. The first page is for everyone and knows who is there; the others need a
// session.
import { serve } from '@hono/node-server'
import { createVerifier } from '@latchkey/verify'
import { authOf, honoGuard, optionalAuthOf } from '@latchkey/verify/hono'
import { Hono } from 'hono'
import type { PropsWithChildren } from 'hono/jsx'

const { PORT = '4000', APP_URL = '', LATCHKEY_URL = '', LATCHKEY_SERVICE_KEY = '' } = process.env

const verifier = createVerifier({
  publicUrl: LATCHKEY_URL,
  jwks: true,
  revocations: { serviceKey: LATCHKEY_SERVICE_KEY },
})

const Page = ({ title, children }: PropsWithChildren<{ title: string }>) => (
  <html lang="en">
    <head>
      <title>{title}</title>
    </head>
    <body>
      <h1>{title}</h1>
      {children}
      <a href={`${LATCHKEY_URL}/dashboard`}>Your account and sign-out</a>
    </body>
  </html>
)

const app = new Hono()

app.get('/', honoGuard(verifier, { appUrl: APP_URL, optional: true }), (context) => {
  const auth = optionalAuthOf(context)
  return context.html(
    <Page title="Orders">{auth ? <p>Hello, {auth.user.username}</p> : <a href="/orders">Sign in</a>}</Page>,
  )
})

app.use('/orders/*', honoGuard(verifier, { appUrl: APP_URL }))
app.get('/orders/:number?', (context) => {
  const { user, authTime } = authOf(context)
  context.header('Cache-Control', 'no-store')
  return context.html(
    <Page title={`Orders of ${user.username}`}>
      <p>
        You have no orders. You signed in at {authTime.toISOString()} as {user.email}.
      </p>
    </Page>,
  )
})

await verifier.ready()
const server = serve({ fetch: app.fetch, port: Number(PORT), hostname: '127.0.0.1' }, () =>
  console.log(`Hono is ready at ${APP_URL}`),
)
// Node drops all header lines after the 2,000th. The guard refuses a request without its Cookie header, but other code may read more.
if ('maxHeadersCount' in server) server.maxHeadersCount = 0
process.once('SIGTERM', () => {
  verifier.close()
  server.close()
})
