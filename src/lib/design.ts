import { type Shades, shadesOf } from './accent.js'
import { type Colours, colours, fonts, radii } from './design-tokens.js'

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
