import type { Language } from '../../contract/languages.js'
import { type PageSettings, settingsElement } from '../../contract/pages.js'
import { labelledLinks, type SiteLinks } from '../../contract/site-links.js'
import { pagePolicy } from '../../http/headers.js'
import { shadesOf } from '../../lib/accent.js'
import { markIcon, markSvg } from '../../lib/brand-mark.js'
import { designStyle } from '../../lib/design-style.js'
import { colours } from '../../lib/design-tokens.js'
import { escapeHtml } from '../../lib/escape-html.js'
import type { NotFoundPage, Page } from './assets.js'

export type Theme = { name: string; logoUrl?: string | undefined; accent: string; links?: SiteLinks }
type Shell = {
  language: Language
  title: string
  theme: Theme
  kind: string
  scripts: "'self'" | "'none'"
  styles: string[]
  head: string
  main: string
}

export const renderPage = (name: string, page: Page, theme: Theme, settings: PageSettings) => {
  const words = page.words[settings.language]
  const handedOver = JSON.stringify({ ...settings, words: words.sections })
  const head = [
    `<script type="application/json" id="${settingsElement}">${escapeJson(handedOver)}</script>`,
    `<script type="module" src="${escapeHtml(page.script)}"></script>`,
  ].join('\n')
  const main = `<noscript><section class="card"><h1>${escapeHtml(words.title)}</h1><p>${escapeHtml(words.noscript)}</p></section></noscript>`
  const { language } = settings
  const { title } = words
  return shell({ language, title, theme, kind: name, scripts: "'self'", styles: page.styles, head, main })
}

export const renderNotFound = (page: NotFoundPage, theme: Theme, language: Language) => {
  const words = page.words[language]
  const main = `<section class="card">
<p class="status-code" aria-hidden="true">404</p>
<h1>${escapeHtml(words.heading)}</h1>
<p class="lead">${escapeHtml(words.text)}</p>
<a class="button primary" href="/">${escapeHtml(words.action)}</a>
</section>`
  const { title } = words
  return shell({ language, title, theme, kind: 'not-found', scripts: "'none'", styles: page.styles, head: '', main })
}

const shell = ({ language, title, theme, kind, scripts, styles, head, main }: Shell) => {
  const { light } = shadesOf(theme.accent)
  return `<!doctype html>
<html lang="${escapeHtml(language)}">
<head>
<meta charset="utf-8">
${pagePolicy(scripts)}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="${colours.light.background}" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="${colours.dark.background}" media="(prefers-color-scheme: dark)">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)} · ${escapeHtml(theme.name)}</title>
<link rel="icon" href="${escapeHtml(theme.logoUrl ?? markIcon(light.fill, light.onFill))}">
<style>${designStyle(theme.accent)}</style>
${styles.map((address) => `<link rel="stylesheet" href="${escapeHtml(address)}">`).join('\n')}
${head}
</head>
<body class="${kind}">
<header class="brand">${logo(theme)}<span>${escapeHtml(theme.name)}</span></header>
<main id="page">${main}</main>
${footer(theme, language)}</body>
</html>
`
}

/** Pages of the operator. Without any there is no footer. */
const footer = ({ links = {} }: Theme, language: Language) => {
  const shown = labelledLinks(links, language).map(
    ({ label, address }) => `<a href="${escapeHtml(address)}">${escapeHtml(label)}</a>`,
  )
  return shown.length === 0 ? '' : `<footer class="site-links">${shown.join('\n')}</footer>\n`
}

const logo = ({ logoUrl }: Theme) =>
  logoUrl === undefined
    ? markSvg
    : `<img class="brand-mark" src="${escapeHtml(logoUrl)}" alt="" width="32" height="32">`

// Inside a script element only its end tag is special, so angle brackets are escaped.
const escapeJson = (json: string) =>
  json.replace(/[<>&]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`)
