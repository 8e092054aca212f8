import type { Design } from './design.js'
import { fontSizes, lineHeight } from './design-tokens.js'

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
