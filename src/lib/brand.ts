import type { Design } from './design.js'
import { fontSizes, fonts, lineHeight, radii } from './design-tokens.js'
import { escapeHtml } from './text.js'

const properties = (prefix: string, values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `--${prefix}${name}:${value};`)
    .join('')

const mapValues = (values: Record<string, number>, write: (value: number) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, write(value)]))

const schemeProperties = ({ colours, accent }: Design, name: 'light' | 'dark') => {
  const { fill, onFill, edge, text } = accent[name]
  const shades = { accent: fill, 'on-accent': onFill, 'accent-edge': edge, 'accent-text': text }
  return properties('', { ...colours[name], ...shades })
}

// Sizes of letters are in rem, so that they grow with the font size that the user has set in the browser.
const shapeProperties = ({ radii, fonts }: Design) =>
  [
    properties(
      'radius-',
      mapValues(radii, (pixels) => `${pixels}px`),
    ),
    properties(
      'size-',
      mapValues(fontSizes, (pixels) => `${pixels / 16}rem`),
    ),
    properties('font-', fonts),
  ].join('')

/** Every design token and the shades of the accent as custom properties, for both colour schemes. */
export const designStyle = (design: Design) =>
  `:root{${schemeProperties(design, 'light')}${shapeProperties(design)}color-scheme:light dark;` +
  `font-family:var(--font-text);line-height:${lineHeight}}` +
  `@media (prefers-color-scheme:dark){:root{${schemeProperties(design, 'dark')}}}`

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

type Size = { width: number; height: number }

/** The operator's logo. With a size it is a word mark, which takes the place of the product's name. */
export type Logo = { address: string; darkAddress?: string; size?: Size }

const usualHeight = 32
const maxSize = { width: 224, height: 48 }
/** A word mark that is narrower than this may be higher than usual, because it has two lines or is a sign. */
const narrowWidth = 96

/** The pixels in which a word mark is shown. Pages and mails reserve them before the picture has arrived. */
export const wordMarkSize = ({ width, height }: Size): Size => {
  const ratio = width / height
  const preferredHeight = Math.max(usualHeight, narrowWidth / ratio)
  const shownHeight = Math.min(preferredHeight, maxSize.height, maxSize.width / ratio)
  return { width: Math.round(shownHeight * ratio), height: Math.round(shownHeight) }
}

/** The image with the operator's dark logo, which is shown if the colour scheme is dark. */
export const withDarkPicture = ({ darkAddress }: Logo, image: string) =>
  darkAddress === undefined
    ? image
    : `<picture><source srcset="${escapeHtml(srcset(darkAddress))}" media="(prefers-color-scheme: dark)">${image}</picture>`

/** A space or a comma is escaped, because it would end the address. */
const srcset = (address: string) => address.replaceAll(' ', '%20').replaceAll(',', '%2C')
