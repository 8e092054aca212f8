import { unknownOptions } from '../../option-names.js'

/** Throws one error with all faults, so that they can be corrected together. */
export const refuseFaults = (faults: readonly (string | undefined | false)[]) => {
  const found = faults.filter(Boolean)
  if (found.length > 0) throw new TypeError(`@latchkey/verify: ${found.join('; ')}`)
}

export const refuseUnknown = (options: object, known: object, owner: string) =>
  refuseFaults(unknownOptions(options, known, owner))
