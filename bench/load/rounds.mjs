// Rounds and tables. Every candidate is measured once in every round, so that other load on the machine affects all of them, and a
// ratio always compares two measurements of the same round.
import { addSection } from './results.mjs'

/** `core` is the core time of an answer in microseconds. @typedef {{ perSecond: number, p50?: number, p99?: number, core?: number }} Measurement */
/** @typedef {{ name: string, runLoad: (seconds: number) => Promise<Measurement> }} Candidate */
/** @typedef {{ name: string, perSecond: number, ratio: number, least: number, most: number, p99: number | undefined, core: number | undefined }} Row */

/** @type {(numbers: number[]) => number} */
export const median = (numbers) => {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const below = sorted[middle - 1] ?? Number.NaN
  const above = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? above : (below + above) / 2
}

const medianOf = (/** @type {number[]} */ numbers) => (numbers.length > 0 ? median(numbers) : undefined)

/**
 * The measurements of each candidate, one for each round. A short round before the first one warms up all candidates.
 * @type {(candidates: Candidate[], plan: { rounds: number, seconds: number }) => Promise<Measurement[][]>}
 */
export const measureInRounds = async (candidates, { rounds, seconds }) => {
  /** @type {Measurement[][]} */
  const measurements = candidates.map(() => [])
  for (const { runLoad } of candidates) await runLoad(Math.min(2, seconds))
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { runLoad }] of candidates.entries()) measurements[index]?.push(await runLoad(seconds))
  }
  return measurements
}

/**
 * The first candidate is the one that the others are compared with. The ratio is the median of the ratios of the rounds.
 * @param {Candidate[]} candidates
 * @param {{ rounds: number, seconds: number }} plan
 * @returns {Promise<Row[]>}
 */
export const compareInRounds = async (candidates, plan) => {
  const measurements = await measureInRounds(candidates, plan)
  return candidates.map(({ name }, index) => {
    const results = measurements[index] ?? []
    const ratios = results.map(
      ({ perSecond }, round) => perSecond / (measurements[0]?.[round]?.perSecond ?? Number.NaN),
    )
    return {
      name,
      perSecond: median(results.map((each) => each.perSecond)),
      ratio: median(ratios),
      least: Math.min(...ratios),
      most: Math.max(...ratios),
      p99: medianOf(results.flatMap((each) => each.p99 ?? [])),
      core: medianOf(results.flatMap((each) => each.core ?? [])),
    }
  })
}

const count = (/** @type {number} */ number) =>
  number.toLocaleString('en', { maximumFractionDigits: number < 100 ? 1 : 0 })

/** @type {(number: number | undefined) => string} */
export const inMilliseconds = (number) => (number === undefined ? '' : `${number.toFixed(number < 10 ? 1 : 0)} ms`)

/** Prints a table in Markdown, for the terminal and for results.md. @type {(title: string, rows: string[][], bars?: import('./results.mjs').Bar[]) => void} */
export const printTable = (title, rows, bars = []) => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  const [head = [], ...others] = rows
  addSection({ title, table: [line(head), rule, ...others.map(line)].join('\n'), bars })
}

/** The core time of an answer, and that of the first row divided by it, where core time was measured. @type {(row: Row, first: Row | undefined) => string[]} */
const coreCells = ({ core }, first) =>
  first?.core === undefined ? [] : [core ? `${core.toFixed(0)} µs` : '', core ? (first.core / core).toFixed(2) : '']

/** @type {(title: string, rows: Row[]) => void} */
export const printRows = (title, rows) => {
  const head = ['', 'per second', 'ratio', 'range', 'p99']
  const cells = rows.map((row) => {
    const { name, perSecond, ratio, least, most, p99 } = row
    const range = `${least.toFixed(2)}–${most.toFixed(2)}`
    return [name, count(perSecond), ratio.toFixed(2), range, inMilliseconds(p99), ...coreCells(row, rows[0])]
  })
  printTable(
    title,
    [[...head, ...(rows[0]?.core === undefined ? [] : ['core time', 'core time ratio'])], ...cells],
    rows,
  )
}
