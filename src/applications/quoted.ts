const maxLength = 200

/**
 * Quotes a value of a request in a sentence for operators. It is shortened, and in printable ASCII, so that it cannot control a terminal or
 * a page.
 */
export const quoted = (value: string) => {
  const printable = value.slice(0, maxLength).replaceAll(/[^\x20-\x7e]|`/g, '?')
  return `\`${printable}${value.length > maxLength ? '…' : ''}\``
}
