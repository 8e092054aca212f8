type Query = Readonly<Record<string, string | undefined>>

const entriesOf = (query: Query) =>
  Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]))

/** The query without parameters that have no value, as a body. */
export const withoutEmpty = (query: Query) => Object.fromEntries(entriesOf(query))

/** The query with its question mark, or an empty text. A parameter without a value is left out. */
export const queryString = (query: Query) => {
  const entries = entriesOf(query)
  return entries.length === 0 ? '' : `?${new URLSearchParams(entries)}`
}
