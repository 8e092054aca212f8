import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOwnHosts } from '../../http/origins.js'
import { designStyle, markSvg } from '../../lib/brand.js'
import type { Design } from '../../lib/design.js'
import { escapeHtml } from '../../lib/text.js'

/** A test user of the development providers. Ada has the same address at both, which shows how accounts are linked. */
export type Person = {
  key: string
  number: number
  login: string
  name: string
  email?: string
  emailVerified?: boolean
  subtitle: string
}

const people: readonly Person[] = [
  {
    key: 'ada',
    number: 1001,
    login: 'ada',
    name: 'Ada Example',
    email: 'ada@example.com',
    emailVerified: true,
    subtitle: 'ada@example.com',
  },
  {
    key: 'ben',
    number: 1002,
    login: 'ben-builds',
    name: 'Ben Example',
    email: 'ben@example.com',
    emailVerified: true,
    subtitle: 'ben@example.com',
  },
  {
    key: 'zoe',
    number: 1003,
    login: 'ada-too',
    name: 'Zo\u00eb Example',
    email: 'ada@example.org',
    emailVerified: true,
    subtitle: 'ada@example.org (same username as Ada)',
  },
  { key: 'nomail', number: 1004, login: 'no-mail', name: 'No Email', subtitle: 'has no email address' },
  {
    key: 'unverified',
    number: 1005,
    login: 'not-verified',
    name: 'Not Verified',
    email: 'unverified@example.com',
    emailVerified: false,
    subtitle: 'unverified@example.com (not verified)',
  },
]

export const personByKey = (key: string | null) => people.find((person) => person.key === key)

const chooserStyle = `
*{box-sizing:border-box}
body{margin:0;min-height:100dvh;display:grid;place-items:center;padding:1.5rem;background:var(--background);color:var(--text)}
main{width:100%;max-width:26rem;padding:1.75rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-card);box-shadow:var(--shadow)}
p{margin:0 0 1rem}
h1{margin:0 0 .5rem;font-size:var(--size-subtitle);line-height:1.25}
:focus-visible{outline:2px solid var(--accent-text);outline-offset:2px}
.provider{display:flex;align-items:center;gap:.625rem;margin-bottom:1rem;color:var(--warning);font-size:var(--size-small);font-weight:600}
.note{margin:1.25rem 0 0;color:var(--muted);font-size:var(--size-small)}
form{display:grid;gap:.5rem;margin:1.25rem 0 0}
button{padding:.65rem .9rem;color:inherit;background:none;border:1px solid var(--edge);border-radius:var(--radius-control);font:inherit;text-align:left;cursor:pointer}
button:hover{background:var(--raised);border-color:var(--accent-edge)}
button strong,button span{display:block;overflow-wrap:anywhere}
button span{color:var(--muted);font-size:var(--size-small)}
.refuse{margin-top:.5rem;text-align:center;border-style:dashed}
`

/** How the page of one provider looks: its name, and the looks of the service. */
export type ChooserLook = { providerName: string; design: Design }

type Question = {
  action: string
  /** Form fields that the visitor does not see. */
  hidden?: Record<string, string>
  /** The origin that the form's answer redirects to. The policy of the page must allow the whole chain of redirects. */
  returnsTo: string
}

export type ChooserPage = ReturnType<typeof createChooserPage>

export const createChooserPage = ({ providerName, design }: ChooserLook) => {
  const style = designStyle(design) + chooserStyle
  const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`

  const sendPage = (response: ServerResponse, returnsTo: string, title: string, content: string, status = 200) => {
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src ${styleHash}; form-action 'self' ${returnsTo}; base-uri 'none'; frame-ancestors 'none'`,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    response.end(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><div class="provider">${markSvg}<span>Development provider</span></div><h1>${escapeHtml(title)}</h1>
${content}
<p class="note">This page replaces the real provider during development. It runs on this machine only and never in production.</p>
</main></body></html>`)
  }

  return {
    sendChooser: (response: ServerResponse, { action, hidden = {}, returnsTo }: Question) =>
      sendPage(
        response,
        returnsTo,
        `Sign in with ${providerName}`,
        `<p>This is not the real ${escapeHtml(providerName)}. Choose a test user to sign in; no password is needed.</p>
<form method="post" action="${escapeHtml(action)}">${hiddenFields(hidden)}${choices}
<button class="refuse" name="person" value="">Refuse to sign in</button></form>`,
      ),

    sendProblem: (response: ServerResponse, problem: string) =>
      sendPage(response, '', 'Sign-in failed', `<p>${escapeHtml(problem)}</p>`, 400),
  }
}

const hiddenFields = (hidden: Record<string, string>) =>
  Object.entries(hidden)
    .map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join('')

const choices = people
  .map(
    ({ key, name, subtitle }) =>
      `<button name="person" value="${key}"><strong>${escapeHtml(name)}</strong><span>${escapeHtml(subtitle)}</span></button>`,
  )
  .join('')

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const longestForm = 16 * 1024

/** Listens on a free port of this machine only. The handler is created once the address is known. */
export const startLoopbackServer = async (hostname: string, createHandler: (origin: string) => Handler) => {
  const server = createServer()
  server.maxHeadersCount = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://${hostname}:${(server.address() as AddressInfo).port}`
  const handle = createHandler(origin)
  const isOwnHost = createOwnHosts({ publicUrl: origin, otherNames: [] })
  server.on('request', (request, response) => {
    if (!isOwnHost(request.headers.host ?? '')) return void response.writeHead(421).end()
    Promise.resolve(handle(request, response)).catch(() => {
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { origin, close }
}

export const readForm = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longestForm) throw new Error('The form is too long')
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}

export const sendJson = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}
