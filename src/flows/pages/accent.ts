/** Red, green and blue, 0 to 255. */
type Colour = readonly [number, number, number]

/** What one colour scheme needs of the accent: a filled surface, what is written on it, and the accent as text. */
export type Shades = { fill: string; onFill: string; text: string }

const white: Colour = [255, 255, 255]
const black: Colour = [0, 0, 0]

// The lightest and darkest surfaces of web/styles/base.css that accented text and controls stand on.
const surfaces = { light: [245, 244, 240], dark: [34, 38, 36] } as const satisfies Record<string, Colour>

// WCAG 2.2: 1.4.3 asks 4.5 of text, 1.4.11 asks 3 of the parts of a control. A little more, so that rounding is harmless.
const readable = 4.6
const visible = 3.1

export const isColour = (value: string) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value)

/** Bends the configured colour, scheme by scheme, only as far as it must be for people to read it. */
export const shadesOf = (accent: string): { light: Shades; dark: Shades } => {
  const colour = parse(accent)
  return { light: shadesOn(surfaces.light, black, colour), dark: shadesOn(surfaces.dark, white, colour) }
}

export const contrast = (left: string, right: string) => contrastOf(parse(left), parse(right))

const shadesOn = (surface: Colour, towards: Colour, accent: Colour): Shades => {
  const fill = bend(accent, towards, surface, visible)
  const onFill = contrastOf(white, fill) >= readable ? white : darkest(fill)
  return { fill: hex(fill), onFill: hex(onFill), text: hex(bend(accent, towards, surface, readable)) }
}

/** Near black reads softer than black; where it is not dark enough, black always is, or white would have been. */
const darkest = (fill: Colour): Colour => {
  const soft: Colour = [17, 20, 19]
  return contrastOf(soft, fill) >= readable ? soft : contrastOf(black, fill) >= contrastOf(white, fill) ? black : white
}

const bend = (colour: Colour, towards: Colour, surface: Colour, wanted: number): Colour => {
  for (let share = 0; share <= 100; share += 2) {
    const bent = mix(colour, towards, share / 100)
    if (contrastOf(bent, surface) >= wanted) return bent
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
