import { contrastFaults, type Design, designOf, isColour, type Theme } from '../lib/design.js'
import { colours, fonts, radii } from '../lib/design-tokens.js'
import { faultAt, listAt, numberAt, objectAt } from '../lib/strict-json.js'

import { readOperatorFile } from './operator-file.js'

const { shadow: _, ...plainColours } = colours.light
const colourNames = ['accent', ...Object.keys(plainColours)]
const schemes = ['light', 'dark'] as const

const colourAt = (value: unknown, place: string) =>
  typeof value === 'string' && isColour(value)
    ? value.toLowerCase()
    : faultAt(`${place} must be a colour such as #2f6fed`)

/** Keywords of CSS, with which the browser chooses the font. They are written without quotation marks. */
const genericFamilies = [
  'system-ui',
  'sans-serif',
  'serif',
  'monospace',
  'ui-sans-serif',
  'ui-serif',
  'ui-monospace',
  'ui-rounded',
]

/** A name is written in quotation marks into style sheets and attributes, so it must not have a character that could end the name there. */
const familyAt = (value: unknown, place: string) => {
  if (typeof value !== 'string' || !/^[\p{L}\p{N}-][\p{L}\p{N} _-]{0,63}$/u.test(value))
    return faultAt(`${place} must be the name of a font: 1 to 64 letters, digits, spaces, hyphens and underscores`)
  return genericFamilies.includes(value) ? value : `'${value}'`
}

const fontAt = (value: unknown, place: string) => {
  const families = listAt(value, place, 10).map((family, at) => familyAt(family, `${place}[${at}]`))
  return genericFamilies.includes(families.at(-1) ?? '')
    ? families.join(',')
    : faultAt(`${place} must end with one of ${genericFamilies.join(', ')}, for devices that have none of the fonts`)
}

const valuesAt = <Value>(
  given: unknown,
  place: string,
  keys: readonly string[],
  read: (value: unknown, place: string) => Value,
) =>
  Object.fromEntries(
    Object.entries(objectAt(given === undefined ? {} : given, place, keys)).map(([key, each]) => [
      key,
      read(each, `${place}.${key}`),
    ]),
  )

const themeIn = (value: unknown): Theme => {
  const given = objectAt(value, 'the file', [...schemes, 'radii', 'fonts'])
  return {
    light: valuesAt(given.light, 'light', colourNames, colourAt),
    dark: valuesAt(given.dark, 'dark', colourNames, colourAt),
    radii: valuesAt(given.radii, 'radii', Object.keys(radii), (radius, place) => numberAt(radius, place, 0, 32)),
    fonts: valuesAt(given.fonts, 'fonts', Object.keys(fonts), fontAt),
  }
}

const checkContrast = (design: Design) => {
  for (const scheme of schemes)
    for (const { colour, surface, actual, minimum } of contrastFaults(design.colours[scheme])) {
      const ratio = Math.floor(actual * 100) / 100
      const { [colour]: front, [surface]: behind } = design.colours[scheme]
      faultAt(
        `${scheme}.${colour} (${front}) on ${scheme}.${surface} (${behind}) has a contrast of ${ratio}:1, and needs at least ${minimum}:1`,
      )
    }
}

/** The design that the JSON of the file describes. A fault is thrown with a sentence that names its place. */
export const designIn = (value: unknown, accent: string): Design => {
  const design = designOf(accent, themeIn(value))
  checkContrast(design)
  return design
}

/** The design of this installation, from THEME_FILE. A colour scheme for which the file names no accent has ACCENT_COLOR. */
export const readDesign = async (config: { themeFile?: string | undefined; accentColor: string }): Promise<Design> => {
  const { themeFile: path, accentColor: accent } = config
  if (path === undefined) return designOf(accent)
  return readOperatorFile('THEME_FILE', path, (value) => designIn(value, accent))
}
