import { createHash } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { escapeHtml } from '../lib/escape-html.js'
import { people } from './people.js'

const style = `
:root { color-scheme: light dark; --ink: #20241f; --soft: #5c635a; --paper: #f3f1ea; --card: #fff; --line: #d9d6ca; --mark: #8a4b08; --glow: #fff4dc }
@media (prefers-color-scheme: dark) { :root { --ink: #ecebe4; --soft: #a9aea4; --paper: #151714; --card: #1f221e; --line: #3a3f38; --mark: #f2b872; --glow: #33291a } }
* { box-sizing: border-box }
body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1.5rem; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif }
main { width: 100%; max-width: 26rem; background: var(--card); border: 1px solid var(--line); border-radius: 1rem; padding: 1.75rem }
p { margin: 0 0 1rem } h1 { font-size: 1.35rem; margin: 0 0 .5rem; line-height: 1.25 }
.tag { display: inline-block; background: var(--glow); color: var(--mark); border-radius: 2rem; padding: .15rem .75rem; font-size: .85rem; font-weight: 600; margin-bottom: .75rem }
.note { color: var(--soft); font-size: .9rem; margin: 1.25rem 0 0 }
form { display: grid; gap: .5rem; margin: 1.25rem 0 0 }
button { font: inherit; color: inherit; text-align: left; cursor: pointer; background: none; border: 1px solid var(--line); border-radius: .75rem; padding: .65rem .9rem }
button:hover { border-color: var(--mark); background: var(--glow) }
button:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px }
button strong, button span { display: block; overflow-wrap: anywhere } button span { color: var(--soft); font-size: .9rem }
.refuse { text-align: center; margin-top: .5rem; border-style: dashed }
`

const styleHash = `'sha256-${createHash('sha256').update(style).digest('base64')}'`

type Chooser = {
  providerName: string
  action: string
  /** Carried through the form unseen. */
  hidden?: Record<string, string>
  /** Where the answer of the form leads in the end: browsers hold the form to its whole chain of redirects. */
  returnsTo: string
}

export const sendChooser = (response: ServerResponse, { providerName, action, hidden = {}, returnsTo }: Chooser) => {
  const fields = Object.entries(hidden).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  )
  const choices = people.map(
    ({ key, name, says }) =>
      `<button name="person" value="${key}"><strong>${escapeHtml(name)}</strong><span>${escapeHtml(says)}</span></button>`,
  )
  sendPage(
    response,
    returnsTo,
    `Who are you at ${providerName}?`,
    `<p>No such people exist, and there is no password. Choose who you are, and the service that sent you here believes it.</p>
<form method="post" action="${escapeHtml(action)}">${fields.join('')}${choices.join('')}
<button class="refuse" name="person" value="">Refuse to sign in</button></form>`,
  )
}

export const sendProblem = (response: ServerResponse, problem: string) =>
  sendPage(response, '', 'This did not work', `<p>${escapeHtml(problem)}</p>`, 400)

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
<title>${escapeHtml(title)}</title><style>${style}</style></head>
<body><main><span class="tag">Development provider</span><h1>${escapeHtml(title)}</h1>
${content}
<p class="note">This page is part of a development start. It runs on this machine only, and never in production.</p>
</main></body></html>`)
}
