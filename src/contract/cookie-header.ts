/** A cookie name is a token of HTTP (RFC 6265). */
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

const isBlank = (character: string | undefined) => character === ' ' || character === '\t'

/**
 * Removes space and tab, and nothing else: `trim` also removes the byte 0xA0. A browser does not take `\xA0__Host-name` for a name
 * with the prefix, so a sibling host may set it for the whole domain. It must not become `__Host-name` here.
 */
const withoutBlanks = (text: string) => {
  let start = 0
  let end = text.length
  while (start < end && isBlank(text[start])) start += 1
  while (end > start && isBlank(text[end - 1])) end -= 1
  return text.slice(start, end)
}

export type CookieValues = {
  /** The value is undefined if a name came without a value, or twice. */
  values: ReadonlyMap<string, string | undefined>
  doubled: ReadonlySet<string>
}

/**
 * The cookies of a request. A name that the standard does not allow is not ours, and is left out. Two cookies with one name count as
 * none: one of them was planted, and we cannot know which.
 */
export const readCookieHeader = (header: string): CookieValues => {
  const values = new Map<string, string | undefined>()
  const doubled = new Set<string>()
  for (const pair of header.split(';')) {
    const end = pair.indexOf('=')
    const name = withoutBlanks(end === -1 ? pair : pair.slice(0, end))
    if (!token.test(name)) continue
    const value = end === -1 ? undefined : withoutBlanks(pair.slice(end + 1)) || undefined
    if (values.has(name)) doubled.add(name)
    values.set(name, doubled.has(name) ? undefined : value)
  }
  return { values, doubled }
}

/** All values of a name, also if it came more than once. A sign-out ends the session of each. */
export const everyValueOf = (header: string, name: string): readonly string[] =>
  header.split(';').flatMap((pair) => readCookieHeader(pair).values.get(name) ?? [])
