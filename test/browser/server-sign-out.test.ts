import { fileURLToPath } from 'node:url'
import { serve } from '@hono/node-server'
import { build } from 'esbuild'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createLatchkey, type Latchkey as ServerLatchkey } from '#verify/ssr.js'
import { openChromium, signIn } from '../support/chromium.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'

const script = `
  import { createElement, render } from 'preact/compat'
  import { LatchkeyProvider } from './react.ts'
  const { user: first, baseUrl } = window.fromServer
  const show = (user) => {
    const children = user ? 'Notes of ' + user.username : 'Nobody is signed in'
    render(createElement(LatchkeyProvider, { baseUrl, user, children }), document.querySelector('main'))
  }
  show(first)
  // As a framework does it: the page stays, and shows what the server makes of it after the action.
  document.querySelector('#action').onclick = async () => {
    await fetch('/sign-out', { method: 'POST', redirect: 'manual' })
    show(await (await fetch('/user')).json())
  }
`

const pageFor = (user: object | null, baseUrl: string) => `<!doctype html><title>Notes</title><main></main>
<form method=post action=/sign-out><button>By a form</button></form><button id=action>By an action</button>
<script>fromServer = ${JSON.stringify({ user, baseUrl })}</script><script type=module src=/app.js></script>`

let latchkey: Latchkey
let server: ServerLatchkey
let http: ReturnType<typeof serve>
let app: string

// No component asks for the user: only the provider watches.
beforeAll(async () => {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: fileURLToPath(new URL('../../packages/client/src', import.meta.url)) },
    ...{ bundle: true, format: 'esm', write: false, alias: { react: 'preact/compat' } },
  })
  const port = await freePort()
  app = `http://localhost:${port}`
  latchkey = await startLatchkey({ settings: { ACCESS_TOKEN_ALGORITHM: 'ES256', ALLOWED_ORIGINS: app } })
  server = createLatchkey(() => ({ publicUrl: latchkey.url, appUrl: app, jwks: true }))
  const guard = server.guard({ optional: true })
  const answer = async (request: Request) => {
    const { pathname } = new URL(request.url)
    const asHtml = { headers: { 'content-type': 'text/html' } }
    if (pathname === '/app.js')
      return new Response(outputFiles[0]?.text, { headers: { 'content-type': 'text/javascript' } })
    if (pathname === '/sign-out') return server.signOut(request)
    const decision = await guard(request)
    if (!decision.goOn) return decision.response
    const user = decision.auth?.user ?? null
    return decision.finish(
      pathname === '/user' ? Response.json(user) : new Response(pageFor(user, latchkey.url), asHtml),
    )
  }
  http = serve({ fetch: answer, port, hostname: 'localhost' })
  await latchkey.signedUp('ada')
})
afterAll(async () => {
  http?.close()
  server?.close()
  await latchkey?.stop()
})

it.each(['By an action', 'By a form'])(
  'a sign-out by the server of an application reaches the other tabs: %s',
  async (way) => {
    const context = await (await openChromium()).newContext({ locale: 'en-GB' })
    const [page, other] = [await context.newPage(), await context.newPage()]
    await page.goto(`${latchkey.url}/login?returnTo=${encodeURIComponent(`${app}/`)}`)
    await signIn(page, 'ada')
    await page.getByText('Notes of ada').waitFor()
    await other.goto(app)
    await other.getByText('Notes of ada').waitFor()
    // A tab that nobody touches: it never becomes visible again.
    await page.getByRole('button', { name: way }).click()
    await page.getByText('Nobody is signed in').waitFor()
    await other.getByText('Nobody is signed in').waitFor()
    // The next page for a visitor asks nothing.
    expect(await page.evaluate(() => sessionStorage.getItem('latchkey.owner'))).toBeNull()
    await context.close()
  },
)
