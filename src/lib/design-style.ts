import type { Design } from './design.js'
import { fontSizes, lineHeight } from './design-tokens.js'

const properties = (prefix: string, values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `--${prefix}${name}:${value};`)
    .join('')

const mapped = (values: Record<string, number>, write: (value: number) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, write(value)]))

const scheme = ({ colours, accent }: Design, name: 'light' | 'dark') => {
  const { fill, onFill, edge, text } = accent[name]
  const shades = { accent: fill, 'on-accent': onFill, 'accent-edge': edge, 'accent-text': text }
  return properties('', { ...colours[name], ...shades })
}

// Letters are measured in rem, so that they grow when the reader has told the browser to show larger ones.
const shapes = ({ radii, fonts }: Design) =>
  [
    properties(
      'radius-',
      mapped(radii, (pixels) => `${pixels}px`),
    ),
    properties(
      'size-',
      mapped(fontSizes, (pixels) => `${pixels / 16}rem`),
    ),
    properties('font-', fonts),
  ].join('')

/** Every design token and the shades of the accent as custom properties, for both colour schemes. */
export const designStyle = (design: Design) =>
  `:root{${scheme(design, 'light')}${shapes(design)}color-scheme:light dark;` +
  `font-family:var(--font-text);line-height:${lineHeight}}` +
  `@media (prefers-color-scheme:dark){:root{${scheme(design, 'dark')}}}`
