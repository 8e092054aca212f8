const word = /^[a-z][a-z0-9_]{0,47}$/

/** Lets so many different words through as values of a label, and calls everything else `other`. */
export const createBoundedLabel = (limit: number) => {
  const known = new Set<string>()
  return (value: string) => {
    if (known.has(value)) return value
    if (known.size >= limit || !word.test(value)) return 'other'
    known.add(value)
    return value
  }
}
