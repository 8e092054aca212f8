import { colours } from './design-tokens.js'

/** Red, green and blue, 0 to 255. */
type Colour = readonly [number, number, number]

/**
 * The accent in one colour scheme: a filled surface, the text on it, the border of a filled control, and the accent as
 * text.
 */
type Shades = { fill: string; onFill: string; edge: string; text: string }

const white: Colour = [255, 255, 255]
const black: Colour = [0, 0, 0]

// WCAG 2.2: 1.4.3 asks 4.5 of text, 1.4.11 asks 3 of the parts of a control. A colour that we change gets a little more, because of
// rounding.
const readable = 4.5
const visible = 3
const slack = 0.1

export const isColour = (value: string) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value)

/**
 * A filled surface has the configured colour itself, with white or black text, whichever is readable. Only the accent as
 * text is made darker or lighter. Mixing with black or white leaves the hue as it is.
 */
export const shadesOf = (accent: string): { light: Shades; dark: Shades } => {
  const colour = parse(accent)
  // The hardest surfaces to read on: the darkest of the light scheme and the lightest of the dark one.
  const light = parse(colours.light.background)
  const dark = parse(colours.dark.raised)
  return { light: shadesOn(light, black, colour), dark: shadesOn(dark, white, colour) }
}

export const contrast = (left: string, right: string) => contrastOf(parse(left), parse(right))

/** The shades of both schemes as variables of a style sheet. */
export const accentStyle = (accent: string) => {
  const { light, dark } = shadesOf(accent)
  return `:root{${variables(light)}}@media (prefers-color-scheme:dark){:root{${variables(dark)}}}`
}

const variables = ({ fill, onFill, edge, text }: Shades) =>
  `--accent:${fill};--on-accent:${onFill};--accent-edge:${edge};--accent-text:${text}`

const shadesOn = (surface: Colour, towards: Colour, accent: Colour): Shades => ({
  fill: hex(accent),
  onFill: hex(readableOn(accent)),
  edge: hex(bend(accent, towards, surface, visible)),
  text: hex(bend(accent, towards, surface, readable)),
})

/** Near black reads softer than black. On a colour that is too dark for it, either white or black has at least 4.58. */
const readableOn = (fill: Colour): Colour => {
  const soft: Colour = [17, 20, 19]
  return [white, soft].find((candidate) => contrastOf(candidate, fill) >= readable) ?? black
}

const bend = (colour: Colour, towards: Colour, surface: Colour, wanted: number): Colour => {
  if (contrastOf(colour, surface) >= wanted) return colour
  for (let share = 2; share <= 100; share += 2) {
    const bent = mix(colour, towards, share / 100)
    if (contrastOf(bent, surface) >= wanted + slack) return bent
  }
  return towards
}

const mix = (from: Colour, to: Colour, share: number): Colour => [
  Math.round(from[0] + (to[0] - from[0]) * share),
  Math.round(from[1] + (to[1] - from[1]) * share),
  Math.round(from[2] + (to[2] - from[2]) * share),
]

const contrastOf = (left: Colour, right: Colour) => {
  const [dark, light] = [luminance(left), luminance(right)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const luminance = ([red, green, blue]: Colour) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

const linear = (channel: number) => {
  const value = channel / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

const parse = (value: string): Colour => {
  if (!isColour(value)) throw new Error('A colour is written as # and three or six hexadecimal digits')
  const digits = value.length === 4 ? value.replace(/[0-9a-f]/gi, '$&$&') : value
  const channel = (from: number) => Number.parseInt(digits.slice(from, from + 2), 16)
  return [channel(1), channel(3), channel(5)]
}

const hex = (colour: Colour) => `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
