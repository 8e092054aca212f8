/** How long what was added to one list, or removed from it, may be as a whole. An address has at most 2,000 characters. */
const longestList = 8_000
/** The longest name that a host can have in the DNS. A longer one shows its end, which is what decides where it leads. */
const longestHost = 253

const entriesOf = (value: unknown): string[] =>
  [value]
    .flat()
    .filter((each) => each !== undefined && each !== null)
    .map((each) => (typeof each === 'object' ? JSON.stringify(each) : String(each)))

/** Where an address leads, such as `https://wiki.example`. Of any other text, and of an address without a host, its beginning. */
const placeOf = (text: string) => {
  const { protocol, host } = URL.canParse(text) ? new URL(text) : { protocol: '', host: '' }
  if (host === '') return text.length > longestHost ? `${text.slice(0, longestHost)}…` : text
  return `${protocol}//${host.length > longestHost ? `…${host.slice(-longestHost)}` : host}`
}

/** All of a list, each entry whole; or, if that is too long, where each of them leads. */
const listText = (name: string, entries: readonly string[]) => {
  const whole = entries.join(', ')
  if (whole.length <= longestList) return { text: `${name}: ${whole}`, isShortened: false }
  return { text: `${name} (${entries.length}): ${[...new Set(entries.map(placeOf))].join(', ')}`, isShortened: true }
}

type Values = Readonly<Record<string, unknown>>

const joined = (parts: readonly string[]) => (parts.length > 0 ? parts.join('; ') : undefined)

/**
 * What has changed, for a mail: `redirect: https://a.example/callback; allow: staff`. Of lists what was added and removed, and how many stay.
 * Nothing that was added is left out, and no address is cut before its host: a dangerous one must not hide behind a long one, or among many.
 */
export const changesInMail = (before: Values = {}, after: Values = {}) => {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  const isList = (name: string) => Array.isArray(before[name]) || Array.isArray(after[name])
  const lists = names.filter(isList).map((name) => {
    const [old, current] = [entriesOf(before[name]), entriesOf(after[name])]
    const added = current.filter((entry) => !old.includes(entry))
    const removed = old.filter((entry) => !current.includes(entry))
    return { name, added, removed, kept: current.length - added.length }
  })
  const textsOf = (part: 'added' | 'removed') =>
    lists.filter((list) => list[part].length > 0).map((list) => listText(list.name, list[part]))
  const [added, removed] = [textsOf('added'), textsOf('removed')]
  const single = (values: Values) =>
    joined(
      names
        .filter((name) => !isList(name) && name in values)
        .map((name) => `${name}: ${entriesOf(values[name]).join(', ') || '-'}`),
    )
  return {
    added: joined(added.map(({ text }) => text)),
    removed: joined(removed.map(({ text }) => text)),
    before: single(before),
    after: single(after),
    kept: joined(lists.filter(({ kept }) => kept > 0).map(({ name, kept }) => `${name} (${kept})`)),
    isShortened: [...added, ...removed].some(({ isShortened }) => isShortened),
  }
}

export type ChangesInMail = ReturnType<typeof changesInMail>
