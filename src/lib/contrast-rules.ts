import { contrastOfHex } from './contrast.js'
import type { ColourName, Colours } from './design-tokens.js'

/** WCAG 2.2 demands a contrast of 4.5 for text (1.4.3), and of 3 for the parts of a control (1.4.11). */
export const minContrast = { text: 4.5, control: 3 }

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
