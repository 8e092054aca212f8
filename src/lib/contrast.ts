/** Red, green and blue, each from 0 to 255. */
export type Colour = readonly [number, number, number]

export const isColour = (value: string) => /^#(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(value)

export const contrastOfHex = (left: string, right: string) => contrastOf(parseColour(left), parseColour(right))

/** The contrast ratio of WCAG 2.2, from 1 to 21. */
export const contrastOf = (left: Colour, right: Colour) => {
  const [dark, light] = [luminance(left), luminance(right)].sort((a, b) => a - b) as [number, number]
  return (light + 0.05) / (dark + 0.05)
}

const luminance = ([red, green, blue]: Colour) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)

const linear = (channel: number) => {
  const value = channel / 255
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}

export const parseColour = (value: string): Colour => {
  if (!isColour(value)) throw new Error('A colour is written as # and three or six hexadecimal digits')
  const digits = value.length === 4 ? value.replace(/[0-9a-f]/gi, '$&$&') : value
  const channel = (from: number) => Number.parseInt(digits.slice(from, from + 2), 16)
  return [channel(1), channel(3), channel(5)]
}

export const hexColour = (colour: Colour) =>
  `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
