import { type Language, languages } from '../../contract/languages.js'
import { pageNames } from '../../contract/pages.js'
import type { MailKind } from '../../domain/mails/letters.js'
import { mailKinds } from '../../domain/mails/mail-examples.js'
import type { PreviewedMail } from '../../domain/mails/mail-preview.js'
import type { Design } from '../../lib/design.js'
import { escapeHtml } from '../../lib/escape-html.js'
import { frameSandbox } from './dev-answers.js'
import { devPage } from './mailbox-page.js'

const footer = `Examples with the looks and the words of your settings. To see pages in the dark scheme, switch your system or browser to it.
This page does not exist in production.`

const mailPath = (kind: MailKind, language: Language) => `/dev/preview/mails/${kind}/${language}`

const row = (name: string, addressIn: (language: Language) => string) =>
  `<li class="choice"><span class="subject">${escapeHtml(name)}</span><span class="about">${languages
    .map(
      (language) =>
        `<a href="${escapeHtml(addressIn(language))}" aria-label="${escapeHtml(name)}, ${language}">${language}</a>`,
    )
    .join(' · ')}</span></li>`

/** Each page and each mail, with a link for each language. */
export const renderPreview = (design: Design, { hasAdminPage }: { hasAdminPage: boolean }) => {
  const paths = [...pageNames.map((name) => `/${name}`), ...(hasAdminPage ? ['/api/auth/admin'] : []), '/not-found']
  const main = `<section class="card"><h1>Pages</h1>
<ul>${paths.map((path) => row(path, (language) => `${path}?ui_locales=${language}`)).join('\n')}</ul></section>
<section class="card"><h1>Mails</h1>
<ul>${mailKinds.map((kind) => row(kind, (language) => mailPath(kind, language))).join('\n')}</ul></section>`
  return devPage({ title: 'Preview', main, footer, design })
}

type Shown = { kind: MailKind; language: Language; mail: PreviewedMail }

export const renderMailPreview = ({ kind, language, mail }: Shown, design: Design) => {
  const main = `<p class="back"><a href="/dev/preview">All pages and mails</a></p>
<article class="card"><h1>${escapeHtml(mail.subject)}</h1>
<p class="about">${escapeHtml(kind)}: ${languages.map((each) => (each === language ? each : `<a href="${mailPath(kind, each)}">${each}</a>`)).join(' · ')}</p>
<iframe class="picture" title="Preview of the mail" sandbox="${frameSandbox}" src="${mailPath(kind, language)}/html"></iframe>
<h2>Text part</h2>
<pre class="text">${escapeHtml(mail.text)}</pre>
</article>`
  return devPage({ title: 'Preview', main, footer, design })
}
