import { fonts, radii } from './design-tokens.js'
import { escapeHtml } from './escape-html.js'

const background = (fill: string) => `<rect width="32" height="32" rx="${radii.mark}" fill="${fill}"/>`

/** The logo of Latchkey, a key whose bit is a latch, on a square of 32 by 32. */
const markShapes = (fill: string, onFill: string) =>
  background(fill) +
  `<g fill="none" stroke="${onFill}" stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round">` +
  '<circle cx="11.6" cy="16" r="4.4"/><path d="M16 16h8.6v4.2M20.6 16v2.8"/></g>'

/** The logo for a page that has the custom properties of the design. */
export const markSvg = `<svg class="brand-mark" viewBox="0 0 32 32" width="32" height="32" aria-hidden="true">${markShapes('var(--accent)', 'var(--on-accent)')}</svg>`

const icon = (shapes: string) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${shapes}</svg>`)}`

/** The logo for the tab of the browser, which knows no custom properties. */
export const markIcon = (fill: string, onFill: string) => icon(markShapes(fill, onFill))

/** The first letter of a name, for the browser's tab and for mails. */
export const firstLetter = (name: string) => (Array.from(name)[0] ?? '').toUpperCase()

export const letterIcon = (name: string, fill: string, onFill: string) =>
  icon(
    `${background(fill)}<text x="16" y="22.5" text-anchor="middle" font-size="19" font-weight="700" font-family="${escapeHtml(fonts.text)}" fill="${onFill}">${escapeHtml(firstLetter(name))}</text>`,
  )
