/** Every option by its name, so that the compiler finds one that is missing here. */
export type NamesOf<Options> = Record<keyof Options, true>

/** Finds misspelt options, which would otherwise be ignored, and with them a condition that a program relies on. */
export const unknownOptions = (options: object, known: object, owner: string) =>
  Object.keys(options)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${name}: is no option of ${owner}`)

/** Throws one error with all faults, so that they can be corrected together. */
export const refuseFaults = (faults: readonly (string | undefined | false)[]) => {
  const found = faults.filter(Boolean)
  if (found.length > 0) throw new TypeError(`@latchkey/verify: ${found.join('; ')}`)
}

export const refuseUnknown = (options: object, known: object, owner: string) =>
  refuseFaults(unknownOptions(options, known, owner))
