import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { markSvg } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'
import type { DeliveredMail, DevelopmentMailbox } from '../platform/mail/mail.js'
import {
  allowingFrame,
  devPage,
  framedHeaders,
  linkLine,
  mailFrame,
  pageHeaders,
  withLinksInTopWindow,
} from './dev-page.js'

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

/** The links of a mail: each stands alone on its line. */
const linksIn = (text: string) => text.split('\n').filter((line) => linkLine.test(line))

const lineOf = (line: string) => {
  const text = escapeHtml(line)
  return linkLine.test(line) ? `<a href="${text}">${text}</a>` : text
}

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
  const hidden = {
    hidden: true,
    guard: [],
    refuses: ['not_found'],
    config: { unlimited: 'In development only' },
  } as const
  const page = { ...hidden, answers: { 200: Type.String() } }
  const pageOfMail = { ...page, params: Type.Object({ id: Type.String({ maxLength: 100 }) }) }

  route(server, 'GET /dev/mailbox', {
    ...page,
    handle: async ({ reply }) => reply.headers(pageHeaders).send(renderMailbox(mailbox.mails(), design)),
  })

  route(server, 'GET /dev/mailbox/:id', {
    ...pageOfMail,
    handle: async ({ params, reply }) => {
      const mail = mailbox.find(params.id)
      if (!mail) return refuse('not_found')
      const policy = allowingFrame(reply.getHeader('content-security-policy'))
      return reply.headers({ ...pageHeaders, 'content-security-policy': policy }).send(renderMail(mail, design))
    },
  })

  route(server, 'GET /dev/mailbox/:id/html', {
    ...pageOfMail,
    handle: async ({ params, reply }) => {
      const mail = mailbox.find(params.id)
      return mail ? reply.headers(framedHeaders).send(withLinksInTopWindow(mail.html)) : refuse('not_found')
    },
  })

  /** The mails, newest first. `?to=` shows only those to one recipient. */
  route(server, 'GET /dev/mailbox.json', {
    ...hidden,
    query: Type.Object({ to: Type.Optional(Type.String()) }),
    answers: { 200: Type.Object({ mails: Type.Array(mailSchema) }) },
    handle: async ({ query, reply }) => {
      const to = query.to?.toLowerCase()
      const matchingMails = mailbox.mails().filter((mail) => to === undefined || mail.to.toLowerCase() === to)
      const mails = matchingMails.map((mail) => ({
        ...mail,
        links: linksIn(mail.text),
        arrivedAt: mail.arrivedAt.toISOString(),
      }))
      reply.header('Cache-Control', 'no-store')
      return { mails }
    },
  })
}
