import { type Language, languages, ownNameOf } from '../contract/languages.js'
import {
  labelledLinks,
  languageSwitch,
  notCompleteElement,
  type PageName,
  type PageSettings,
  type SiteLinks,
  settingsElement,
} from '../contract/pages.js'
import { pageHead, pagePolicy } from '../http/headers.js'
import { designStyle, type Logo, letterIcon, markIcon, markSvg, withDarkPicture, wordMarkSize } from '../lib/brand.js'
import type { Design } from '../lib/design.js'
import { escapeHtml } from '../lib/text.js'
import type { FooterWords, Page, PlainPage, PlainPageName, WithoutScript } from './assets.js'

export type Brand = { name: string; design: Design; logo?: Logo; iconUrl?: string | undefined }

/** The logo with the name, or the word mark alone, with the name for screen readers. */
export const brandMark = ({ name, logo }: Brand) => {
  const nameHtml = escapeHtml(name)
  if (!logo) return `${markSvg}<span>${nameHtml}</span>`
  const source = escapeHtml(logo.address)
  if (!logo.size)
    return `${withDarkPicture(logo, `<img class="brand-mark" src="${source}" alt="" width="32" height="32">`)}<span>${nameHtml}</span>`
  const { width, height } = wordMarkSize(logo.size)
  // The width is in rem, so that the logo grows with the letters. The style sheet lets the height follow.
  return withDarkPicture(
    logo,
    `<img class="brand-word" src="${source}" alt="${nameHtml}" width="${width}" height="${height}" style="width:${width / 16}rem">`,
  )
}

/** The icon in the browser's tab. A word mark would be too small to read there. */
const tabIcon = ({ name, design, logo, iconUrl }: Brand) => {
  if (iconUrl !== undefined) return iconUrl
  if (logo && !logo.size) return logo.address
  const { fill, onFill } = design.accent.light
  return logo ? letterIcon(name, fill, onFill) : markIcon(fill, onFill)
}

export type Theme = Brand & {
  links?: SiteLinks
  /** The address of the application, to which the brand links. */
  home?: string | undefined
}

/** Pages whose address has a fragment, which the server does not see and a reload by a link would lose. */
const pagesWithFragment: readonly string[] = [
  'verify-email',
  'reset-password',
  'confirm-email',
  'undo',
  'invite',
  'device',
  'setup',
] satisfies PageName[]

type Shell = {
  language: Language
  title: string
  theme: Theme
  kind: string
  scripts: "'self'" | "'none'"
  styles: string[]
  head: string
  body: string
  footerWords: FooterWords
}

/** `above`: HTML that can be read without the script of the page. */
export const renderPage = (name: string, page: Page, theme: Theme, settings: PageSettings, above = '') => {
  const words = page.words[settings.language]
  const settingsForScript = { ...settings, words: words.sections }
  const head = [
    // Without scripts the form would never work, so it is hidden.
    `<noscript><style>#page,#${notCompleteElement}{display:none}</style></noscript>`,
    `<script type="application/json" id="${settingsElement}">${escapeJson(JSON.stringify(settingsForScript))}</script>`,
    `<script type="module" src="${escapeHtml(page.script)}"></script>`,
  ].join('\n')
  const body = `${above}<noscript><main><section class="card"><h1>${escapeHtml(words.title)}</h1><p>${escapeHtml(words.withoutScript.noscript)}</p></section></main></noscript>
${notCompleteNotice(words.withoutScript, canBeLoadedAgain(name, settings))}
<div id="page"><main>${page.drawFirstCard(settingsForScript)}</main></div>`
  const { language } = settings
  const { title, footer: footerWords } = words
  return renderShell({
    language,
    title,
    theme,
    kind: name,
    scripts: "'self'",
    styles: page.styles,
    head,
    body,
    footerWords,
  })
}

/**
 * A style shows this notice after four seconds, unless the script has come and removed it. Without the script, nothing else would say
 * that the form does not work.
 */
const notCompleteNotice = (words: WithoutScript, hasLink: boolean) =>
  `<p id="${notCompleteElement}" class="notice error" role="alert">${escapeHtml(words.notComplete)}${hasLink ? ` <a class="button" href="">${escapeHtml(words.reload)}</a>` : ''}</p>`

/**
 * Whether a link can load the page again. It would lose a fragment, which holds the token of a mailed link or the code of a device, and
 * a form that an application has sent.
 */
const canBeLoadedAgain = (name: string, { mailSignIn, parameters }: PageSettings) =>
  !pagesWithFragment.includes(name) && !(name === 'login' && mailSignIn) && parameters === undefined

/** Stands in a page for the parameters that an application sends. It has nothing that JSON escapes. */
const parametersPlace = '(parameters)'
const parametersMember = (json: string) => `"parameters":${json}`

/**
 * Renders a page for forms of applications once, and returns what stands before and after their parameters. So a posted page costs no
 * more than its parameters, whoever sends how many of them.
 */
export const renderAroundParameters = (name: string, page: Page, theme: Theme, settings: PageSettings) => {
  const html = renderPage(name, page, theme, { ...settings, parameters: parametersPlace })
  // Quotation marks of texts are escaped, so no text can look like the member.
  const [before = '', after = ''] = html.split(parametersMember(`"${parametersPlace}"`))
  return (parameters: string) => before + parametersMember(escapeJson(JSON.stringify(parameters))) + after
}

export const plainPageStatus = {
  'not-found': 404,
  'too-many-requests': 429,
  'led-back': 409,
  'host-again': 400,
  'host-stopped': 400,
} as const satisfies Record<PlainPageName, number>

export const renderPlainPage = (name: PlainPageName, page: PlainPage, theme: Theme, language: Language) => {
  const { title, heading, text, action, footer: footerWords } = page.words[language]
  const body = `<main><section class="card">
<p class="status-code" aria-hidden="true">${plainPageStatus[name]}</p>
<h1>${escapeHtml(heading)}</h1>
<p class="lead">${escapeHtml(text)}</p>
${action === undefined ? '' : `<a class="button primary" href="/">${escapeHtml(action)}</a>\n`}</section></main>`
  const files = { scripts: "'none'", styles: page.styles, head: '' } as const
  return renderShell({ language, title, theme, kind: name, ...files, body, footerWords })
}

/**
 * A page at the host of an application: it has no script, and its style is inside, because no other file of ours can be loaded there. `next`
 * is where its link leads.
 */
export const renderHostPage = (
  page: PlainPage,
  { theme, language, style, next }: { theme: Theme; language: Language; style: string; next: string | undefined },
) => {
  const { title, heading, text, action } = page.words[language]
  const isLinked = next !== undefined && action !== undefined
  return `<!doctype html>
<html lang="${escapeHtml(language)}">
${pageHead(`${title} · ${theme.name}`, designStyle(theme.design) + style)}
<body>
<header class="brand">${markSvg}<span>${escapeHtml(theme.name)}</span></header>
<main><section class="card">
<h1>${escapeHtml(heading)}</h1>
<p class="lead">${escapeHtml(text)}</p>
${isLinked ? `<a class="button primary" href="${escapeHtml(next)}">${escapeHtml(action)}</a>\n` : ''}</section></main>
</body>
</html>
`
}

/** A page of this content only, without a script. */
export const renderContent = (name: PageName, page: Page, theme: Theme, language: Language, content: string) => {
  const { title, footer: footerWords } = page.words[language]
  const body = `<main><section class="card">${content}</section></main>`
  const files = { scripts: "'none'", styles: page.styles, head: '' } as const
  return renderShell({ language, title, theme, kind: name, ...files, body, footerWords })
}

const renderShell = ({
  language,
  title,
  theme,
  kind,
  scripts,
  styles,
  head,
  body,
  footerWords,
}: Shell) => `<!doctype html>
<html lang="${escapeHtml(language)}">
<head>
<meta charset="utf-8">
${pagePolicy(scripts)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${theme.design.colours.light.background}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${theme.design.colours.dark.background}" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · ${escapeHtml(theme.name)}</title>
<link rel="icon" href="${escapeHtml(tabIcon(theme))}">
<style>${designStyle(theme.design)}</style>
${styles.map((address) => `<link rel="stylesheet" href="${escapeHtml(address)}">`).join('\n')}
${head}
</head>
<body class="${kind}">
<header class="brand">${renderBrand(theme)}</header>
${body}
${renderFooter({ language, theme, kind, footerWords })}</body>
</html>
`

/** Pages of the operator, if there are any, and the switch of languages. A script finds the words that it translates by `data-word`. */
const renderFooter = ({
  language,
  theme,
  kind,
  footerWords,
}: Pick<Shell, 'language' | 'theme' | 'kind' | 'footerWords'>) => {
  const links = labelledLinks(theme.links ?? {}, footerWords).map(
    ({ name, label, address }) => `<a href="${escapeHtml(address)}" data-word="${name}">${escapeHtml(label)}</a>`,
  )
  const buttons = languages.map(
    (each) =>
      `<button name="to" value="${each}" lang="${each}" aria-pressed="${each === language}">${escapeHtml(ownNameOf(each))}</button>`,
  )
  return `<footer>
${links.length === 0 ? '' : `<div class="site-links">${links.join('\n')}</div>\n`}<form class="languages" action="${languageSwitch}" data-page="${kind}" aria-label="${escapeHtml(footerWords.language)}" data-word="language">
${buttons.join('\n')}
<p role="status"></p>
</form>
</footer>
`
}

const renderBrand = (theme: Theme) => {
  const mark = brandMark(theme)
  return theme.home === undefined ? mark : `<a href="${escapeHtml(theme.home)}">${mark}</a>`
}

// Inside a script element only an end tag is special, so angle brackets are escaped.
const escapeJson = (json: string) =>
  json.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
