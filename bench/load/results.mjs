// What a run has measured. When it was told to (`--write`), its tables take the place of those in bench/results.json that the same
// major version of Node measured before, and bench/results.md and bench/results.svg are made of all.
import { readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { plot } from './plot.mjs'

/** @typedef {{ name: string, ratio: number, perSecond: number }} Bar */
/** `bars` are drawn; a table of other numbers has none. @typedef {{ title: string, table: string, bars: Bar[] }} Section */
/** `where`: the machine, and its load average before and after. @typedef {Section & { node: string, where: string }} Result */

/** @type {Section[]} */
const sections = []

export const addSection = (/** @type {Section} */ section) => {
  console.log(`\n${section.title}\n\n${section.table}`)
  sections.push(section)
}

const fileOf = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url))
const headingOf = (/** @type {Section} */ { title }) => title.replace(/:.*/, '')
const nameOf = (/** @type {Result} */ result) => `${headingOf(result)}, ${result.node}`

const introduction = `Written by \`node bench/run.mjs --write\`. [README.md](README.md) explains the tables.

- \`ratio\`: requests per second, divided by those of the first row in the same round. The column has the median of the rounds, so it
  can differ from the quotient of two medians. \`range\`: the smallest and the largest ratio of a round.
- \`core time\`: processor time for one answer. \`core time ratio\`: the core time of the first row, divided by that of the row.
- A first row called “limit” does the least work that the answer needs. A ratio above 1 in its table is noise of the machine.
- The load average is that of the last minute: the first one is of what ran before.`

/** @type {(results: readonly Result[]) => string} */
const pageOf = (results) => {
  const parts = results.map((result) => {
    const { title, table, where } = result
    return `## ${nameOf(result)}\n\n${title}. ${where}\n\n${table}\n`
  })
  return `# Results\n\n${introduction}\n\n![The ratios](results.svg)\n\n${parts.join('\n')}`
}

/** @param {string} where */
export const writeResults = async (where) => {
  const node = `Node ${process.versions.node.split('.')[0]}`
  const measured = sections.map((section) => ({ ...section, node, where }))
  /** @type {Result[]} */
  const before = JSON.parse(await readFile(fileOf('results.json'), 'utf8'))
  const names = new Set([...before, ...measured].map(nameOf))
  const results = [...names]
    .toSorted()
    .flatMap((name) => [...measured, ...before].find((each) => nameOf(each) === name) ?? [])
  await writeFile(fileOf('results.json'), `${JSON.stringify(results, null, 2)}\n`)
  await writeFile(fileOf('results.md'), pageOf(results))
  const comparedWithALimit = results.filter(({ bars: [first] }) => first?.name.startsWith('limit'))
  await writeFile(fileOf('results.svg'), plot(comparedWithALimit.map((each) => ({ ...each, title: nameOf(each) }))))
}
