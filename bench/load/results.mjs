// What a run has measured. Written to bench/results.md and bench/results.svg when the run was told to (`--write`).
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { plot } from './plot.mjs'

/** @typedef {{ name: string, ratio: number, perSecond: number }} Bar */
/** `bars` are drawn; a table of other numbers has none. @typedef {{ title: string, table: string, bars: Bar[] }} Section */

/** @type {Section[]} */
const sections = []

export const addSection = (/** @type {Section} */ section) => {
  console.log(`\n${section.title}\n\n${section.table}`)
  sections.push(section)
}

const fileOf = (/** @type {string} */ name) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** @param {string} where the machine, and how busy it was */
export const writeResults = async (where) => {
  const text = sections
    .map(({ title, table }) => `## ${title.replace(/:.*/, '')}\n\n${title}.\n\n${table}\n`)
    .join('\n')
  const head = `# Results\n\nWritten by \`node bench/run.mjs --write\`. ${where}\n\n[docs/benchmarks.md](../docs/benchmarks.md) explains them.\n\n![The ratios](results.svg)\n`
  await writeFile(fileOf('results.md'), `${head}\n${text}`)
  const comparedWithALimit = sections.filter(({ bars: [first] }) => first?.name.startsWith('limit'))
  await writeFile(fileOf('results.svg'), plot(comparedWithALimit))
}
