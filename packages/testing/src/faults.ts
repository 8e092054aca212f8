import { unknownOptions } from '../../option-names.js'

/** A misspelt option is refused, because it would otherwise be ignored. */
export const refuseUnknown = (options: object, known: object, owner: string) => {
  const [fault] = unknownOptions(options, known, owner)
  if (fault !== undefined) throw new TypeError(fault)
}
