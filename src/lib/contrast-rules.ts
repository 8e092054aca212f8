import { contrast } from './contrast.js'
import type { ColourName, Colours } from './design-tokens.js'

/** WCAG 2.2: 1.4.3 asks 4.5 of text, 1.4.11 asks 3 of the parts of a control. */
export const minContrast = { text: 4.5, control: 3 }

type ContrastRule = { colour: ColourName; on: readonly ColourName[]; least: number }

/** Pairs of colours: what is written or drawn, and its background. */
const contrastRules: readonly ContrastRule[] = [
  {
    colour: 'text',
    on: ['background', 'surface', 'raised', 'info-background', 'danger-background', 'success-background'],
    least: minContrast.text,
  },
  { colour: 'muted', on: ['background', 'surface', 'raised', 'info-background'], least: minContrast.text },
  { colour: 'edge', on: ['background', 'surface', 'raised'], least: minContrast.control },
  { colour: 'danger', on: ['surface', 'danger-background'], least: minContrast.text },
  { colour: 'success', on: ['surface', 'success-background'], least: minContrast.text },
  { colour: 'warning', on: ['surface'], least: minContrast.text },
]

/** The pairs of a scheme that cannot be read or seen. */
export const contrastFaults = (scheme: Colours) =>
  contrastRules.flatMap(({ colour, on, least }) =>
    on.flatMap((surface) => {
      const found = contrast(scheme[colour], scheme[surface])
      return found < least ? [{ colour, surface, found, least }] : []
    }),
  )
