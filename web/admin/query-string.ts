/** With its question mark, or nothing. What has no value is left out. */
export const queryString = (query: Record<string, string | undefined>) => {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
