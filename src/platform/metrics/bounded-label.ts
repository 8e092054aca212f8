const word = /^[a-z][a-z0-9_]{0,47}$/

/** Allows a limited number of different values for a label. Every further value becomes `other`. */
export const createBoundedLabel = (limit: number) => {
  const known = new Set<string>()
  return (value: string) => {
    if (known.has(value)) return value
    if (known.size >= limit || !word.test(value)) return 'other'
    known.add(value)
    return value
  }
}
