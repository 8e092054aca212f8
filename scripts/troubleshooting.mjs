// The table of docs/troubleshooting.md: codes and statuses come from the program, the last column is written by hand.

const begin = '<!-- The first two columns are generated: npm run docs -->'
const end = '<!-- end of the table -->'

/** @param {string} text */
export const causesIn = (text) =>
  new Map([...text.matchAll(/^\| `([a-z_]+)` \| \d+ \| (.*) \|$/gm)].map(([, code, cause]) => [code, cause]))

/**
 * The guide with the codes of today. A new code gets an empty last column, which a test refuses.
 * @param {string} text
 * @param {Record<string, { status: number }>} refusals
 */
export const withRefusals = (text, refusals) => {
  const causes = causesIn(text)
  const rows = Object.entries(refusals).map(
    ([code, { status }]) => `| \`${code}\` | ${status} | ${causes.get(code) ?? ''} |`,
  )
  const table = ['| code | status | what it means, and what to do |', '|---|---|---|', ...rows].join('\n')
  const [head = '', rest = ''] = text.split(begin)
  const [, tail = ''] = rest.split(end)
  return `${head}${begin}\n\n${table}\n\n${end}${tail}`
}
