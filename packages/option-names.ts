// The build copies this file into the packages that take options: each of them is published by itself.

/** Every option by its name, so that the compiler finds one that is missing here. */
export type NamesOf<Options> = Record<keyof Options, true>

/** Finds misspelt options, which would otherwise be ignored, and with them a condition that a program relies on. */
export const unknownOptions = (options: object, known: object, owner: string) =>
  Object.keys(options)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => `${name}: is no option of ${owner}`)
