/** How many letters must be added, removed or replaced to turn `from` into `to` (Levenshtein). */
export const editDistance = (from: string, to: string) => {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const costOfReplacing = (previous[column] ?? 0) + (letter === other ? 0 : 1)
      current.push(Math.min(costOfReplacing, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous.at(-1) ?? 0
}
