import { fill } from '../words/format.js'
import { useSettings, useWords } from './settings.js'

/** The step of the user on the way to a new account. Shown only where a second factor makes it long. */
export const useSteps = (at: number | undefined, of = at) => {
  const { step } = useWords('common')
  const isLong = useSettings().secondFactor === 'required'
  return isLong && at !== undefined ? fill(step, { at: `${at}`, of: `${of}` }) : undefined
}
