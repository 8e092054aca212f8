import { pageHead } from '../http/headers.js'
import { designStyle, markSvg } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'

import type { DeliveredMail } from '../platform/mail/mail.js'
import { frameSandbox } from './dev-answers.js'
import { mailboxStyle } from './mailbox-style.js'

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

export const renderMailbox = (mails: readonly DeliveredMail[], design: Design) => {
  const count = mails.length === 1 ? '1 mail' : `${mails.length} mails`
  const list = `<section class="card"><div class="line"><h1>${count}</h1><a class="button" href="/dev/mailbox">Reload</a></div>
<ul>${mails.map(mailItem).join('\n')}</ul></section>`
  return mailboxPage('Development mailbox', mails.length > 0 ? list : emptyMailbox, design)
}

const linkLine = /^https?:\/\/[^\s<>"]+$/

/** The links of a mail: each stands alone on its line. */
export const linksIn = (text: string) => text.split('\n').filter((line) => linkLine.test(line))

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
export const renderMail = (mail: DeliveredMail, design: Design) =>
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
