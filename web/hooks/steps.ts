import { fill } from '../words/format.js'
import { useSettings, useWords } from './settings.js'

/** A text such as "Step 2 of 3" for a registration. It is shown only if a second factor is required, which makes the way long. */
export const useStepText = (at: number | undefined, of = at) => {
  const { step } = useWords('common')
  const isLong = useSettings().secondFactor === 'required'
  return isLong && at !== undefined ? fill(step, { at: `${at}`, of: `${of}` }) : undefined
}
