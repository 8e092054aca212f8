import { type ColourName, type Colours, colours, fonts, radii } from './design-tokens.js'

/** Red, green and blue, each from 0 to 255. */
export type Colour = readonly [number, number, number]

export const isColour = (value: string) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value)

export const contrastOfHex = (left: string, right: string) => contrastOf(parseColour(left), parseColour(right))

/** The contrast ratio of WCAG 2.2, from 1 to 21. */
const contrastOf = (left: Colour, right: Colour) => {
  const [dark, light] = [luminance(left), luminance(right)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const luminance = ([red, green, blue]: Colour) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

const linear = (channel: number) => {
  const value = channel / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

const parseColour = (value: string): Colour => {
  if (!isColour(value)) throw new Error('A colour is written as # and three or six hexadecimal digits')
  const digits = value.length === 4 ? value.replace(/[0-9a-f]/gi, '$&$&') : value
  const channel = (from: number) => Number.parseInt(digits.slice(from, from + 2), 16)
  return [channel(1), channel(3), channel(5)]
}

const hexColour = (colour: Colour) => `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`

/** WCAG 2.2 demands a contrast of 4.5 for text (1.4.3), and of 3 for the parts of a control (1.4.11). */
const minContrast = { text: 4.5, control: 3 }

type ContrastRule = { colour: ColourName; on: readonly ColourName[]; minimum: number }

/** The colour of a text or a line, the backgrounds on which it is shown, and the contrast that it needs there. */
const contrastRules: readonly ContrastRule[] = [
  {
    colour: 'text',
    on: ['background', 'surface', 'raised', 'info-background', 'danger-background', 'success-background'],
    minimum: minContrast.text,
  },
  { colour: 'muted', on: ['background', 'surface', 'raised', 'info-background'], minimum: minContrast.text },
  { colour: 'edge', on: ['background', 'surface', 'raised'], minimum: minContrast.control },
  { colour: 'danger', on: ['surface', 'danger-background'], minimum: minContrast.text },
  { colour: 'success', on: ['surface', 'success-background'], minimum: minContrast.text },
  { colour: 'warning', on: ['surface'], minimum: minContrast.text },
]

/** The pairs of a scheme that have too little contrast. */
export const contrastFaults = (scheme: Colours) =>
  contrastRules.flatMap(({ colour, on, minimum }) =>
    on.flatMap((surface) => {
      const actual = contrastOfHex(scheme[colour], scheme[surface])
      return actual < minimum ? [{ colour, surface, actual, minimum }] : []
    }),
  )

/**
 * The accent in one colour scheme: a filled surface, the text on it, the border of a filled control, and the accent as
 * text.
 */
export type Shades = { fill: string; onFill: string; edge: string; text: string }

const white: Colour = [255, 255, 255]
const black: Colour = [0, 0, 0]

/** A colour that is changed gets a little more contrast than it needs, because of rounding. */
const slack = 0.1

/**
 * A filled surface has the configured colour itself, with white or black text, whichever is readable. Only the accent as
 * text is made darker or lighter. Mixing with black or white leaves the hue as it is.
 */
export const shadesOf = (accent: string, { background, surface, raised }: Colours): Shades => {
  const colour = parseColour(accent)
  const surfaces = [background, surface, raised].map(parseColour)
  const blackOrWhite = lowestContrast(black, surfaces) > lowestContrast(white, surfaces) ? black : white
  return {
    fill: hexColour(colour),
    onFill: hexColour(readableOn(colour)),
    edge: hexColour(mixUntilReadable(colour, blackOrWhite, surfaces, minContrast.control)),
    text: hexColour(mixUntilReadable(colour, blackOrWhite, surfaces, minContrast.text)),
  }
}

const lowestContrast = (colour: Colour, surfaces: readonly Colour[]) =>
  Math.min(...surfaces.map((surface) => contrastOf(colour, surface)))

/**
 * Near black looks softer than black, so black is used only if neither white nor near black can be read. One of white and black
 * always can.
 */
const readableOn = (fill: Colour): Colour => {
  const nearBlack: Colour = [17, 20, 19]
  return [white, nearBlack].find((candidate) => contrastOf(candidate, fill) >= minContrast.text) ?? black
}

const mixUntilReadable = (
  colour: Colour,
  blackOrWhite: Colour,
  surfaces: readonly Colour[],
  minimum: number,
): Colour => {
  if (lowestContrast(colour, surfaces) >= minimum) return colour
  for (let share = 2; share <= 100; share += 2) {
    const candidate = mix(colour, blackOrWhite, share / 100)
    if (lowestContrast(candidate, surfaces) >= minimum + slack) return candidate
  }
  return blackOrWhite
}

const mix = (from: Colour, to: Colour, share: number): Colour => [
  Math.round(from[0] + (to[0] - from[0]) * share),
  Math.round(from[1] + (to[1] - from[1]) * share),
  Math.round(from[2] + (to[2] - from[2]) * share),
]

/** The part of the design that an operator changes; the rest stays as it is. */
export type Theme = {
  light?: Partial<Colours> & { accent?: string }
  dark?: Partial<Colours> & { accent?: string }
  radii?: Partial<typeof radii>
  fonts?: Partial<typeof fonts>
}

/** The design tokens of this installation, for pages, mails and development pages alike. */
export type Design = {
  colours: { light: Colours; dark: Colours }
  accent: { light: Shades; dark: Shades }
  radii: typeof radii
  fonts: typeof fonts
}

export const designOf = (accent: string, theme: Theme = {}): Design => {
  const colourScheme = (name: 'light' | 'dark') => {
    const { accent: schemeAccent = accent, ...schemeColours } = theme[name] ?? {}
    const scheme = { ...colours[name], ...schemeColours }
    return { colours: scheme, accent: shadesOf(schemeAccent, scheme) }
  }
  const light = colourScheme('light')
  const dark = colourScheme('dark')
  return {
    colours: { light: light.colours, dark: dark.colours },
    accent: { light: light.accent, dark: dark.accent },
    radii: { ...radii, ...theme.radii },
    fonts: { ...fonts, ...theme.fonts },
  }
}
