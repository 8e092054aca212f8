// Rounds and tables. Every subject has one turn in every round, so that other load on the machine affects all of them, and a
// ratio always compares two turns of the same round.
import { addSection } from './results.mjs'

/** `core` is the core time of an answer in microseconds. @typedef {{ perSecond: number, p50?: number, p99?: number, core?: number }} Turn */
/** @typedef {{ name: string, turn: (seconds: number) => Promise<Turn> }} Subject */
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
 * The turns of each subject. A short round before the first one warms up all subjects.
 * @type {(subjects: Subject[], plan: { rounds: number, seconds: number }) => Promise<Turn[][]>}
 */
export const turnsInRounds = async (subjects, { rounds, seconds }) => {
  /** @type {Turn[][]} */
  const turns = subjects.map(() => [])
  for (const { turn } of subjects) await turn(Math.min(2, seconds))
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, { turn }] of subjects.entries()) turns[index]?.push(await turn(seconds))
  }
  return turns
}

/**
 * The first subject is the limit that the others are compared with.
 * @param {Subject[]} subjects
 * @param {{ rounds: number, seconds: number }} plan
 * @returns {Promise<Row[]>}
 */
export const inRounds = async (subjects, plan) => {
  const turns = await turnsInRounds(subjects, plan)
  return subjects.map(({ name }, index) => {
    const own = turns[index] ?? []
    const ratios = own.map(({ perSecond }, round) => perSecond / (turns[0]?.[round]?.perSecond ?? Number.NaN))
    return {
      name,
      perSecond: median(own.map((turn) => turn.perSecond)),
      ratio: median(ratios),
      least: Math.min(...ratios),
      most: Math.max(...ratios),
      p99: medianOf(own.flatMap((turn) => turn.p99 ?? [])),
      core: medianOf(own.flatMap((turn) => turn.core ?? [])),
    }
  })
}

const count = (/** @type {number} */ number) =>
  number.toLocaleString('en', { maximumFractionDigits: number < 100 ? 1 : 0 })

/** @type {(number: number | undefined) => string} */
export const inMilliseconds = (number) => (number === undefined ? '' : `${number.toFixed(number < 10 ? 1 : 0)} ms`)

/** Prints a table in Markdown, so that it can be read here and kept there. @type {(title: string, rows: string[][], bars?: import('./results.mjs').Bar[]) => void} */
export const printTable = (title, rows, bars = []) => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |`
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`
  const [head = [], ...others] = rows
  addSection({ title, table: [line(head), rule, ...others.map(line)].join('\n'), bars })
}

/** How much less core time the limit needs for an answer, where that was measured. @type {(row: Row, limit: Row | undefined) => string[]} */
const coreCells = ({ core }, limit) =>
  limit?.core === undefined ? [] : [core ? `${core.toFixed(0)} µs` : '', core ? (limit.core / core).toFixed(2) : '']

/** @type {(title: string, rows: Row[]) => void} */
export const printRows = (title, rows) => {
  const head = ['', 'a second', 'ratio', 'range', 'p99']
  const cells = rows.map((row) => {
    const { name, perSecond, ratio, least, most, p99 } = row
    const range = `${least.toFixed(2)}–${most.toFixed(2)}`
    return [name, count(perSecond), ratio.toFixed(2), range, inMilliseconds(p99), ...coreCells(row, rows[0])]
  })
  printTable(title, [[...head, ...(rows[0]?.core === undefined ? [] : ['core time', 'its ratio'])], ...cells], rows)
}
