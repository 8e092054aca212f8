import { escapeHtml } from '../lib/text.js'
import { pagePolicy } from './headers.js'

/** The head of a page without scripts, for developers. */
export const pageHead = (title: string, style: string) => `<head>
<meta charset="utf-8">
${pagePolicy("'none'")}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>`
