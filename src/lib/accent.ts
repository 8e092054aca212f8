import { type Colour, contrastOf, hexColour, parseColour } from './contrast.js'
import { minContrast } from './contrast-rules.js'
import type { Colours } from './design-tokens.js'

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
