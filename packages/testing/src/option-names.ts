/** Every option by its name, so that the compiler finds one that is missing here. */
export type NamesOf<Options> = Record<keyof Options, true>

/** A misspelt option is refused, because it would otherwise be ignored. */
export const refuseUnknown = (options: object, known: object, owner: string) => {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name))
  if (unknown !== undefined) throw new TypeError(`${unknown}: is no option of ${owner}`)
}
