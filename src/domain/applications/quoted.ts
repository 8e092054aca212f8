const longest = 200

/** A value of a request in a sentence for operators: cut, and only printable ASCII, which no terminal or page obeys. */
export const quoted = (value: string) => {
  const printable = value.slice(0, longest).replaceAll(/[^\x20-\x7e]|`/g, '?')
  return `\`${printable}${value.length > longest ? '…' : ''}\``
}
