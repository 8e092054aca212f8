/** Every option by its name, so that the compiler finds one that is missing here. */
export type NamesOf<Options> = Record<keyof Options, true>

/** A misspelt option would be left out without a word, and with it the condition that a program relies on. */
export const unknownOptions = (options: object, known: object, owner: string) =>
  Object.keys(options)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${name}: is no option of ${owner}`)

/** All faults in one error, so that they can be corrected together. */
export const refuseFaults = (faults: readonly (string | undefined | false)[]) => {
  const found = faults.filter(Boolean)
  if (found.length > 0) throw new TypeError(`@latchkey/verify: ${found.join('; ')}`)
}

export const refuseUnknown = (options: object, known: object, owner: string) =>
  refuseFaults(unknownOptions(options, known, owner))
