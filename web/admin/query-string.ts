/** The query with its question mark, or an empty text. A parameter without a value is left out. */
export const queryString = (query: Record<string, string | undefined>) => {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
