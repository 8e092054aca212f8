/**
 * What an answer of the service carries, but for what each server says about the connection, the length and the cookies itself.
 * @type {(head: string) => Record<string, string>}
 */
export const headersOf = (head) => {
  const pairs = head
    .split('\r\n')
    .slice(1)
    .map((line) => line.split(/: (.*)/s, 2))
  return Object.fromEntries(
    pairs.filter(([name = '']) => !/^(date|connection|keep-alive|content-length|set-cookie)$/i.test(name)),
  )
}
