import { accentStyle } from './accent.js'
import { colours, fontSizes, fonts, lineHeight, radii } from './design-tokens.js'

const properties = (prefix: string, values: Record<string, string>) =>
  Object.entries(values)
    .map(([name, value]) => `--${prefix}${name}:${value};`)
    .join('')

const mapped = (values: Record<string, number>, write: (value: number) => string) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, write(value)]))

// Letters are measured in rem, so that they grow when the reader has told the browser to show larger ones.
const shapes = [
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

const tokenStyle =
  `:root{${properties('', colours.light)}${shapes}color-scheme:light dark;` +
  `font-family:var(--font-text);line-height:${lineHeight}}` +
  `@media (prefers-color-scheme:dark){:root{${properties('', colours.dark)}}}`

/** Every design token and the shades of the accent as custom properties, for both colour schemes. */
export const designStyle = (accent: string) => tokenStyle + accentStyle(accent)
