import { printableText } from './printable-json.js'

/**
 * Columns as wide as their widest cell; the first row is the heading. Names and programs come from strangers: what a terminal
 * would obey or hide is written as an escape.
 */
export const asTable = (cells: readonly (readonly string[])[]) => {
  const rows = cells.map((row) => row.map(printableText))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (row: readonly string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((row) => line(row).trimEnd()).join('\n')
}
