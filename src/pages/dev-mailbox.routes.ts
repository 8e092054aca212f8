import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { pageHead } from '../http/headers.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { designStyle, markSvg } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'
import type { DeliveredMail, DevelopmentMailbox } from '../platform/mail/mail.js'

/** The style of the mailbox. Its colours, radii, fonts and sizes are the custom properties of lib/design-style.ts. */
const mailboxStyle = `
*,*::before,*::after{box-sizing:border-box}
body{margin:0;min-height:100dvh;padding:clamp(1.5rem,6vh,4rem) 1rem 2.5rem;color:var(--text);background:var(--background);
background-image:radial-gradient(52rem 26rem at 50% -12rem,color-mix(in srgb,var(--accent) 13%,transparent),transparent);
background-repeat:no-repeat;overflow-wrap:anywhere}
h1,p,ul,dl,dd,pre{margin:0;padding:0}
h1{font-size:var(--size-subtitle);font-weight:650;line-height:1.3;letter-spacing:-.015em}
a{color:var(--accent-text);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent-text);outline-offset:2px}
.brand{display:flex;align-items:center;justify-content:center;gap:.625rem;margin-bottom:1.75rem;font-size:var(--size-brand);font-weight:650}
.brand-mark{display:block}
.brand-word{display:block;height:auto;max-width:100%}
main{max-width:44rem;margin:0 auto}
.card{padding:1.75rem;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius-card);box-shadow:var(--shadow)}
.card>*+*{margin-top:1.25rem}
.empty{text-align:center}
.empty p{color:var(--muted)}
.line{display:flex;align-items:center;justify-content:space-between;gap:1rem}
.button{display:inline-block;padding:.5rem 1rem;color:var(--text);background:var(--surface);border:1px solid var(--line);
border-radius:var(--radius-control);font-size:var(--size-medium);font-weight:550;text-decoration:none}
.button:hover,.mail:hover{background:var(--raised)}
ul{list-style:none;margin:1rem -1.75rem -1.75rem;border-top:1px solid var(--line)}
li+li{border-top:1px solid var(--line)}
li:last-child .mail{border-radius:0 0 var(--radius-card) var(--radius-card)}
.mail{display:block;padding:.875rem 1.75rem;color:inherit;text-decoration:none}
.mail:focus-visible{outline-offset:-3px}
main>.card+.card{margin-top:1.5rem}
.choice{display:flex;flex-wrap:wrap;justify-content:space-between;gap:.25rem 1rem;padding:.625rem 1.75rem}
.subject{display:block;font-weight:550}
.about,.back,dt,summary{color:var(--muted);font-size:var(--size-small)}
.back{margin-bottom:.75rem}
dl>div{display:flex;gap:.75rem;font-size:var(--size-medium)}
dt{flex:none;width:3.5rem;line-height:1.6}
pre{white-space:pre-wrap;font-size:var(--size-medium)}
.text{padding:1.25rem;background:var(--raised);border:1px solid var(--line);border-radius:var(--radius-control);font-family:inherit}
.source{margin-top:.75rem;padding:1rem;background:var(--raised);border-radius:var(--radius-control);font-size:var(--size-tiny);
font-family:var(--font-code)}
summary{cursor:pointer}
.picture{display:block;width:100%;height:var(--wide);border:1px solid var(--line);border-radius:var(--radius-control)}
@media (max-width:40rem){.picture{height:var(--narrow)}}
h2{margin:0;font-size:var(--size-medium);font-weight:600}
.below{max-width:44rem;margin:1.5rem auto 0;text-align:center;color:var(--muted);font-size:var(--size-tiny)}
`

/** The permissions of the frame around the HTML part: it may open a link that was clicked, but runs no scripts. */
const frameSandbox = 'allow-popups allow-top-navigation-by-user-activation'

export const asPage = (reply: FastifyReply, html: string) =>
  reply.header('Cache-Control', 'no-store').type('text/html; charset=utf-8').send(html)

/** Lets the page of a mail have one frame from this site. The rest of the policy stays. */
export const allowFrame = (reply: FastifyReply) => {
  const policy = String(reply.getHeader('content-security-policy'))
  return reply.header('content-security-policy', policy.replace("frame-src 'none'", "frame-src 'self'"))
}

/** The headers of the document in the frame: no script, no form, nothing loaded but images, and an origin without our cookies. */
export const withFramedHeaders = (reply: FastifyReply) =>
  reply.headers({
    'content-security-policy': `sandbox ${frameSandbox};default-src 'none';style-src 'unsafe-inline';img-src http: https: data:;form-action 'none';frame-ancestors 'self'`,
    'x-frame-options': 'SAMEORIGIN',
    // Images load from any site, as in a mail program, but without cookies.
    'cross-origin-embedder-policy': 'credentialless',
  })

type DevPage = { title: string; brand: string; main: string; footer: string; design: Design }

export const devPage = ({ title, brand, main, footer, design }: DevPage) => `<!doctype html>
<html lang="en">
${pageHead(title, designStyle(design) + mailboxStyle)}
<body>
<header class="brand">${brand}</header>
<main>${main}</main>
<footer class="below">${footer}</footer>
</body>
</html>
`

const footer = `No mail is sent while <code>SMTP_URL</code> is not set. This page shows the newest 100 mails until the service stops.
It does not exist in production. For scripts: <a href="/dev/mailbox.json">mailbox.json</a>. <a href="/dev/preview">All pages and mails</a>`

const mailboxPage = (title: string, main: string, design: Design) =>
  devPage({ title, brand: `${markSvg}<span>Development mailbox</span>`, main, footer, design })

const moment = (date: Date) => {
  const iso = date.toISOString()
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`
}

const mailItem = (mail: DeliveredMail) => `<li><a class="mail" href="/dev/mailbox/${encodeURIComponent(mail.id)}">
<span class="subject">${escapeHtml(mail.subject)}</span>
<span class="about">to ${escapeHtml(mail.to)} · ${moment(mail.arrivedAt)}</span>
</a></li>`

const emptyMailbox = `<section class="card empty"><h1>No mail yet</h1>
<p>Register or reset a password, and the mail appears here.</p>
<p><a class="button" href="/register">Register</a></p></section>`

const renderMailbox = (mails: readonly DeliveredMail[], design: Design) => {
  const count = mails.length === 1 ? '1 mail' : `${mails.length} mails`
  const list = `<section class="card"><div class="line"><h1>${count}</h1><a class="button" href="/dev/mailbox">Reload</a></div>
<ul>${mails.map(mailItem).join('\n')}</ul></section>`
  return mailboxPage('Development mailbox', mails.length > 0 ? list : emptyMailbox, design)
}

const linkLine = /^https?:\/\/[^\s<>"]+$/

/** The links of a mail: each stands alone on its line. */
const linksIn = (text: string) => text.split('\n').filter((line) => linkLine.test(line))

const lineOf = (line: string) => {
  const text = escapeHtml(line)
  return linkLine.test(line) ? `<a href="${text}">${text}</a>` : text
}

/** The HTML part as a mail program shows it. Its links open in the whole window, not inside the frame. */
export const withLinksInTopWindow = (html: string) => html.replace(/<head[^>]*>/i, '$&<base target="_top">')

const lineHeight = 26

/** The height of a mail in pixels. `characters`: in a line. `around`: heading and margins. A link is a button with its address below. */
const heightOf = (text: string, { characters, around }: { characters: number; around: number }) => {
  const lines = text.split('\n').map((line) => Math.ceil(line.length / characters) + (linkLine.test(line) ? 3 : 0.7))
  return Math.ceil(lines.reduce((sum, each) => sum + each * lineHeight, around))
}
const wide = { characters: 56, around: 70 }
const narrow = { characters: 20, around: 240 }

/**
 * The HTML part in a frame that is as high as the mail. The height is estimated, because no script may run in the frame and measure it.
 * The text part has the same sentences.
 */
export const mailFrame = (text: string, address: string, title = 'Preview of the mail') =>
  `<iframe class="picture" title="${title}" style="--wide:${heightOf(text, wide)}px;--narrow:${heightOf(text, narrow)}px" sandbox="${frameSandbox}" src="${address}"></iframe>`

/** The HTML part in a frame, the text part with working links, and the source of the HTML part. */
const renderMail = (mail: DeliveredMail, design: Design) =>
  mailboxPage(
    mail.subject,
    `<p class="back"><a href="/dev/mailbox">All mails</a></p>
<article class="card"><h1>${escapeHtml(mail.subject)}</h1>
<dl>
<div><dt>To</dt><dd>${escapeHtml(mail.to)}</dd></div>
<div><dt>From</dt><dd>${escapeHtml(mail.from)}</dd></div>
<div><dt>Sent</dt><dd>${moment(mail.arrivedAt)}</dd></div>
</dl>
${mailFrame(mail.text, `/dev/mailbox/${encodeURIComponent(mail.id)}/html`)}
<h2>Text part</h2>
<pre class="text">${mail.text.split('\n').map(lineOf).join('\n')}</pre>
<details><summary>Source of the HTML part</summary><pre class="source">${escapeHtml(mail.html)}</pre></details>
</article>`,
    design,
  )

const { responses, sendRefusal } = routeRefusals('not_found')

const mailSchema = Type.Object({
  id: Type.String(),
  to: Type.String(),
  from: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.String(),
  links: Type.Array(Type.String()),
  arrivedAt: Type.String(),
})

/** A page with the mails that would be sent. It needs a development mailbox, which does not exist in production. */
export const devMailboxRoutes = (
  server: Server,
  { mailbox, design }: { mailbox: DevelopmentMailbox; design: Design },
) => {
  const config = { unlimited: 'In development only' }
  const page = { hide: true, response: { 200: Type.String(), ...responses } }
  const pageOfMail = { config, schema: { ...page, params: Type.Object({ id: Type.String({ maxLength: 100 }) }) } }

  server.get('/dev/mailbox', { config, schema: page }, async (_request, reply) =>
    asPage(reply, renderMailbox(mailbox.mails(), design)),
  )

  server.get('/dev/mailbox/:id', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail ? asPage(allowFrame(reply), renderMail(mail, design)) : sendRefusal(reply, refuse('not_found'))
  })

  server.get('/dev/mailbox/:id/html', pageOfMail, async (request, reply) => {
    const mail = mailbox.find(request.params.id)
    return mail
      ? asPage(withFramedHeaders(reply), withLinksInTopWindow(mail.html))
      : sendRefusal(reply, refuse('not_found'))
  })

  /** The mails, newest first. `?to=` shows only those to one recipient. */
  server.get(
    '/dev/mailbox.json',
    {
      config,
      schema: {
        hide: true,
        querystring: Type.Object({ to: Type.Optional(Type.String()) }),
        response: { 200: Type.Object({ mails: Type.Array(mailSchema) }) },
      },
    },
    async (request, reply) => {
      const to = request.query.to?.toLowerCase()
      const matchingMails = mailbox.mails().filter((mail) => to === undefined || mail.to.toLowerCase() === to)
      const mails = matchingMails.map((mail) => ({
        ...mail,
        links: linksIn(mail.text),
        arrivedAt: mail.arrivedAt.toISOString(),
      }))
      return reply.header('Cache-Control', 'no-store').send({ mails })
    },
  )
}
