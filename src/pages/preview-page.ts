import { type Language, languages } from '../contract/languages.js'
import { type PageName, pageNames, type protocolPageNames } from '../contract/pages.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'

import type { MailKind } from '../messages/letters.js'
import { mailKinds, type PreviewedMail } from '../messages/mail-preview.js'

import { devPage, mailFrame } from './mailbox-page.js'
import { type ExampleName, exampleScriptPath } from './page-examples.js'

/** The design of the preview page: that of the operator's pages, with their logo. */
export type Look = { design: Design; brand: string }

const footer = `Examples with the looks and the words of your settings. To see pages in the dark scheme, switch your system or browser to it.
This page does not exist in production.`

export const schemes = ['light', 'dark'] as const
export type Scheme = (typeof schemes)[number]

const mailPath = (kind: MailKind, language: Language) => `/dev/preview/mails/${kind}/${language}`

/** A page that says that a limit is reached. No address of it is for visitors. */
export const tooManyRequests = 'too-many-requests'

type Row = { name: string; page?: PageName; addressIn: (language: Language) => string }

const ownPage = (page: PageName, path = `/${page}`): Row => ({
  name: path,
  page,
  addressIn: (language) => `${path}?ui_locales=${language}`,
})
const examplePage = (page: PageName, name: ExampleName, fragment = ''): Row => ({
  name,
  page,
  addressIn: (language) => `/dev/preview/pages/${name}/${language}${fragment}`,
})

const protocolPages: Record<(typeof protocolPageNames)[number], readonly Row[]> = {
  authorize: [examplePage('authorize', 'consent')],
  // The page shows the code filled in, and asks the question after a press.
  device: [examplePage('device', 'device', '#WDJB-MJHT')],
  'end-session': [examplePage('end-session', 'end-session')],
}

const pageRows = (hasAdminPage: boolean): readonly Row[] => [
  ...pageNames.map((name) => ownPage(name)),
  examplePage('login', 'mail-sign-in'),
  examplePage('login', 'mail-sign-in-code'),
  ...Object.values(protocolPages).flat(),
  ownPage('setup', '/api/auth/setup'),
  ...(hasAdminPage ? [ownPage('admin', '/api/auth/admin')] : []),
  { name: '/not-found', addressIn: (language) => `/not-found?ui_locales=${language}` },
  { name: tooManyRequests, addressIn: (language) => `/dev/preview/${tooManyRequests}/${language}` },
]

const renderRow = ({ name, page, addressIn }: Row) =>
  `<li class="choice"${page === undefined ? '' : ` data-page="${page}"`}><span class="subject">${escapeHtml(name)}</span><span class="about">${languages
    .map(
      (language) =>
        `<a href="${escapeHtml(addressIn(language))}" aria-label="${escapeHtml(name)}, ${language}">${language}</a>`,
    )
    .join(' · ')}</span></li>`

const needsAdminGroup =
  '<p class="about">The page of administrators is not there: <code>ADMIN_GROUP</code> is empty.</p>'

/** Each page and each mail, with a link for each language. */
export const renderPreview = (look: Look, { hasAdminPage }: { hasAdminPage: boolean }) => {
  const mails = mailKinds.map((kind) => ({ name: kind, addressIn: (language: Language) => mailPath(kind, language) }))
  const main = `<section class="card"><h1>Pages</h1>${hasAdminPage ? '' : needsAdminGroup}
<ul>${pageRows(hasAdminPage).map(renderRow).join('\n')}</ul></section>
<section class="card"><h1>Mails</h1>
<ul>${mails.map(renderRow).join('\n')}</ul></section>`
  return devPage({ title: 'Preview', main, footer, ...look })
}

type ShownMail = { kind: MailKind; language: Language; mail: PreviewedMail }

export const renderMailPreview = ({ kind, language, mail }: ShownMail, look: Look) => {
  const frames = schemes.map((scheme) => {
    const address = `${mailPath(kind, language)}/html?scheme=${scheme}`
    return `<h2>On a ${scheme} screen</h2>\n${mailFrame(mail.text, address, `Preview of the mail, ${scheme}`)}`
  })
  const main = `<p class="back"><a href="/dev/preview">All pages and mails</a></p>
<article class="card"><h1>${escapeHtml(mail.subject)}</h1>
<p class="about">${escapeHtml(kind)}: ${languages.map((each) => (each === language ? each : `<a href="${mailPath(kind, each)}">${each}</a>`)).join(' · ')}</p>
${frames.join('\n')}
<h2>Text part</h2>
<pre class="text">${escapeHtml(mail.text)}</pre>
</article>`
  return devPage({ title: 'Preview', main, footer, ...look })
}

/** The mail as on a screen with this scheme, whatever scheme the browser has. */
export const inScheme = (html: string, scheme: Scheme | undefined) =>
  scheme === undefined
    ? html
    : html.replaceAll(/\(prefers-color-scheme: ?dark\)/g, scheme === 'dark' ? 'all' : 'not all')

/** Puts the script of the example in front of the page's own. */
export const withExample = (html: string, name: ExampleName) =>
  html.replace('<script type="module"', `<script src="${exampleScriptPath(name)}"></script>\n$&`)
